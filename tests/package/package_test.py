#!/usr/bin/env python3
"""What a system gets: manual pages, completion, an installed tree, the library in it, and Debian packages.

usage: package_test.py BINARY BUILD_FOLDER [unittest options]      BUILD_FOLDER must be wholly built
Needs no network. A part whose tools are missing (bash, dpkg-deb) is skipped with the reason.
"""
import gzip
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
from skips import run_unittest  # noqa: E402

BINARY, BUILD = "", pathlib.Path()


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600, **options)
    return done.returncode, done.stdout


def ok(*words, **options):
    code, text = run(*words, **options)
    if code != 0:
        raise AssertionError(f"{words} ended with {code}:\n{text[-4000:]}")
    return text


def verbs():
    return sorted(path.stem for path in (SOURCE / "docs" / "cli").glob("*.md"))


def words_of_roff(text):
    """The words that a reader of a manual page sees, by section."""
    sections, name = {}, ""
    for line in text.splitlines():
        if line.startswith(".SH "):
            name = line[4:]
        elif not line.startswith((".", "'")):
            line = re.sub(r"\\f[A-Z]", "", line).replace(r"\-", "-").replace(r"\&", "").replace(r"\e", "\\")
            sections.setdefault(name, []).extend(line.split())
    return sections


class OneCppLibrary(unittest.TestCase):
    def test_the_program_shares_it_with_what_it_loads(self):
        """A copy inside the program takes the place of some functions for libraries that are loaded later, and not of all. Streams
        that cuDNN makes then find another number's formatter, and the program crashes."""
        defined = [line for line in ok("readelf", "-W", "--dyn-syms", BINARY).splitlines()
                   if " UND " not in line and "_ZNSt6locale" in line]
        self.assertEqual(defined, [])


class ManualPages(unittest.TestCase):
    def test_a_page_says_what_help_says(self):
        for verb in verbs():
            with self.subTest(verb=verb):
                help_text = ok(BINARY, verb, "--help")
                title, body = help_text.split("\n", 1)
                body, options = body.split("\nOptions:\n")
                page = words_of_roff(ok(BINARY, "list", "--man", verb))
                self.assertEqual(page["NAME"], [f"convcast-{verb}", "-", *title.split(": ", 1)[1].split()])
                self.assertEqual(page["OPTIONS"], options.split())
                self.assertEqual(sorted(page.get("DESCRIPTION", []) + page["EXAMPLES"]), sorted(body.split()))

    def test_the_programs_page_names_every_verb(self):
        page = words_of_roff(ok(BINARY, "list", "--man", "convcast"))
        overview = ok(BINARY, "--help")
        for verb in verbs():
            summary = re.search(rf"(?m)^  {verb} +(.*)$", overview).group(1)
            self.assertIn(f"{verb} {summary}", " ".join(page["VERBS"]))
            self.assertIn(f"convcast-{verb}(1)", [word.rstrip(",") for word in page["SEE ALSO"]])
        self.assertEqual(page["EXIT STATUS"], overview.split("exit codes:")[1].split())

    def test_help_lists_the_options_that_a_verb_takes(self):
        for verb in verbs():
            with self.subTest(verb=verb):
                code, refusal = run(BINARY, verb, "--no-such-option-anywhere")
                self.assertEqual(code, 2, refusal)
                taken = set(re.findall(r"--([a-z0-9-]+)", refusal.split("Options: ")[1]))
                listed = ok(BINARY, verb, "--help").split("\nOptions:\n")[1]
                said = set(re.findall(r"(?m)^ {4}(?:-\w, )?--([a-z0-9-]+)", listed))
                self.assertEqual(taken, said)

    def test_an_unknown_page_is_refused(self):
        code, text = run(BINARY, "list", "--man", "predit")
        self.assertEqual(code, 2)
        self.assertIn("did you mean 'predict'?", text)


@unittest.skipUnless(shutil.which("bash"), "bash is not installed; apt-get install bash")
class BashCompletion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = ok(BINARY, "list", "--completion", "bash")

    def complete(self, line, folder=None):
        """What <TAB> at the end of the line offers. Bash splits words at '=' too."""
        words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
        program = (f"{self.script}\nCOMP_WORDS=({' '.join(repr(word) for word in words)})\nCOMP_CWORD={len(words) - 1}\n"
                   "_convcast\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
        return ok("bash", "--norc", "-c", program, cwd=folder).split("\n")[:-1]

    def test_verbs(self):
        self.assertEqual(self.complete("convcast pre"), ["predict"])
        self.assertEqual(sorted(self.complete("convcast ")), sorted([*verbs(), "help", "--help", "--version"]))

    def test_options_are_those_of_the_verb(self):
        self.assertEqual(self.complete("convcast predict --st"), ["--study", "--strategy"])
        self.assertEqual(self.complete("convcast doctor --"), ["--json", "--help"])

    def test_names_that_ship(self):
        self.assertEqual(self.complete("convcast predict --gpu h2"), ["h200"])
        self.assertEqual(self.complete("convcast predict --gpu=h2"), ["h200"])
        self.assertEqual(self.complete("convcast choose --study vgg16_b1"), ["vgg16_b1"])
        self.assertEqual(self.complete("convcast run --strategy winog"), ["winograd"])
        self.assertEqual(self.complete("convcast explain dram_read_ba"), ["dram_read_bandwidth"])
        self.assertEqual(self.complete("convcast list --completion f"), ["fish"])

    def test_files_and_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "my run.json").touch()
            (pathlib.Path(folder) / "my_folder").mkdir()
            self.assertEqual(sorted(self.complete("convcast report m", folder)), ["my run.json", "my_folder"])
            self.assertEqual(self.complete("convcast report -o m", folder), ["my_folder"])
            self.assertEqual(sorted(self.complete("convcast predict --gpu m", folder)), ["my run.json", "my_folder"])

    def test_shapes_and_numbers_have_no_candidates(self):
        for words in ("--shape ", "--sms "):
            self.assertEqual([word for word in self.complete("convcast predict " + words) if word], [])


class OtherShells(unittest.TestCase):
    def test_every_verb_and_option_is_there(self):
        for verb in verbs():
            offered = ok(BINARY, "__complete", verb, "--")
            for option in re.findall(r"(?m)^ {4}(?:-\w, )?--([a-z0-9-]+)", ok(BINARY, verb, "--help")):
                self.assertRegex(offered, rf"(?m)^--{option}\t.")
        for shell in ("zsh", "fish"):
            script = ok(BINARY, "list", "--completion", shell)
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w") as file:
                    file.write(script)
                    file.flush()
                    ok(shell, "--no-execute" if shell == "fish" else "-n", file.name)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed; apt-get install zsh")
    def test_zsh_completes(self):
        with tempfile.NamedTemporaryFile("w", suffix=".zsh") as file:
            file.write(ok(BINARY, "list", "--completion", "zsh"))
            file.flush()
            shell, terminal = pty.fork()
            if shell == 0:
                os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb"})
            self.addCleanup(os.waitpid, shell, 0)
            self.addCleanup(os.close, terminal)
            self.type_and_read(terminal, f"PS1='> '; autoload -U compinit; compinit -D; source {file.name}; echo rea''dy\n", "ready")
            for typed, completed in (("convcast pre", "predict "), ("convcast predict --gpu h2", "h200 "),
                                     ("convcast predict --str", "--strategy "), ("convcast run --strategy winog", "winograd "),
                                     ("convcast report -o /us", "/usr/"), ("convcast explain dram_read_ba", "dram_read_bandwidth ")):
                self.type_and_read(terminal, typed + "\t", typed.rsplit(" ", 1)[0] + " " + completed)
                self.type_and_read(terminal, "\x15echo do''ne\n", "done")

    def type_and_read(self, terminal, keys, awaited):
        os.write(terminal, keys.encode())
        seen, end = "", time.monotonic() + 20
        while awaited not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 65536).decode("utf-8", "replace")
        self.assertIn(awaited, seen)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed; apt-get install fish")
    def test_fish_completes(self):
        with tempfile.NamedTemporaryFile("w", suffix=".fish") as file:
            file.write(ok(BINARY, "list", "--completion", "fish"))
            file.flush()
            for typed, completed in (("convcast pre", ["predict"]), ("convcast predict --st", ["--strategy", "--study"]),
                                     ("convcast predict --gpu h2", ["h200"]), ("convcast run --study vgg", ["vgg16_b1", "vgg16_b32"])):
                offered = ok("fish", "-c", f"source {file.name}; complete -C '{typed}'").splitlines()
                self.assertEqual([line.split("\t")[0] for line in offered], completed)

    def test_another_shell_is_refused(self):
        code, text = run(BINARY, "list", "--completion", "zhs")
        self.assertEqual(code, 2)
        self.assertIn("did you mean 'zsh'?", text)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="convcast_package_")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = pathlib.Path(cls.folder.name) / "prefix"
        ok("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def test_what_is_installed(self):
        share = self.prefix / "share"
        self.assertEqual(ok(self.prefix / "bin" / "convcast", "--version"), ok(BINARY, "--version"))
        manuals = sorted(path.name for path in (share / "man" / "man1").iterdir())
        self.assertEqual(manuals, sorted(["convcast.1.gz", *(f"convcast-{verb}.1.gz" for verb in verbs())]))
        for verb in verbs():
            page = gzip.decompress((share / "man" / "man1" / f"convcast-{verb}.1.gz").read_bytes()).decode()
            self.assertEqual(page, ok(BINARY, "list", "--man", verb))
        for name, shell in (("bash-completion/completions/convcast", "bash"), ("zsh/vendor-completions/_convcast", "zsh"),
                            ("fish/vendor_completions.d/convcast.fish", "fish")):
            self.assertEqual((share / name).read_text(), ok(BINARY, "list", "--completion", shell))
        for name in ("convcast/profiles/h200.json", "convcast/data/studies/vgg16_b1.json",
                     "convcast/data/recorded/h200/chang.json.gz", "doc/convcast/LICENSE", "doc/convcast/docs/model.md"):
            self.assertTrue((share / name).is_file(), name)
        findings = json.loads(ok(self.prefix / "bin" / "convcast", "doctor", "--json", cwd=self.folder.name))
        docs = [finding["detail"] for finding in findings if finding["what"] == "documentation"]
        self.assertEqual(docs, [f"what help calls docs/ lies in {share / 'doc' / 'convcast' / 'docs'}"])

    def test_a_program_of_somebody_elses_uses_the_library(self):
        build = pathlib.Path(self.folder.name) / "consumer"
        ok("cmake", "-G", "Ninja", "-S", HERE / "consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Release",
           "-DCMAKE_CXX_FLAGS_RELEASE=-O0")
        ok("cmake", "--build", build)
        strategy, time = ok(build / "consumer").split()
        ranked = ok(BINARY, "choose", "--shape", "n1c64h56w56k64r3s3", "--top", "1", "--json")
        self.assertIn(f'"{strategy}"', ranked)
        forecast = re.search(r'"time_s": ([0-9.e+-]+)', ranked).group(1)
        self.assertEqual(float(time), float(forecast))


@unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "dpkg-shlibdeps is not installed; apt-get install dpkg-dev")
class DebianPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="convcast_package_")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.packages = [cls.pack(time) for time in ("first", "second")]

    @classmethod
    def pack(cls, name):
        folder = pathlib.Path(cls.folder.name) / name
        ok("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder,
           env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}

    def test_the_same_bytes_twice(self):
        first, second = ({name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in packages.items()}
                         for packages in self.packages)
        self.assertEqual(first, second)
        self.assertTrue(first)

    def test_what_a_package_says_and_has(self):
        for name, path in self.packages[0].items():
            with self.subTest(package=name):
                control = ok("dpkg-deb", "-f", path)
                for field in ("Package", "Version", "Architecture", "Maintainer", "Section", "Depends", "Description",
                              "Installed-Size"):
                    self.assertRegex(control, rf"(?m)^{field}: \S")
                listing = ok("dpkg-deb", "-c", path)
                for line in listing.splitlines():
                    mode, owner = line.split()[:2]
                    self.assertEqual(owner, "root/root", line)
                    self.assertIn(mode, ("drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"), line)
                self.assertIn(f"./usr/share/doc/{name}/copyright\n", listing + "\n")
                self.assertIn(f"./usr/share/doc/{name}/changelog.gz\n", listing + "\n")
                self.assertNotIn("/usr/local", listing)
                self.assertNotIn("/LICENSE", listing)
                if name != "libconvcast-dev":
                    self.assertRegex(control, r"(?m)^Depends:.*\blibc6 \(>= ")
                if name == "convcast-onnx": # the only one that needs the ONNX library
                    self.assertRegex(control, r"(?m)^Depends:.*\blibonnx1")
                    self.assertIn("./usr/libexec/convcast/convcast-onnx", listing)
                elif name != "libconvcast-dev":
                    self.assertNotIn("onnx", control)
                    self.assertIn("./usr/share/man/man1/convcast.1.gz", listing)


if __name__ == "__main__":
    BINARY, BUILD = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    os.environ["PATH"] = f"{pathlib.Path(BINARY).parent}{os.pathsep}{os.environ['PATH']}"  # completion asks the program
    sys.exit(run_unittest(sys.argv[3:]))
