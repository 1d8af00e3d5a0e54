#!/usr/bin/env python3
"""Drives the convcast command line: golden text, the JSON's names and numbers, and every kind of bad input.

usage: cli_test.py BINARY [--update] [--part I/N] [unittest options, e.g. -k shapes -v]
--update rewrites golden/*.txt: do that only when the model or a text was meant to change, and read the difference.
No test needs a GPU, and none finds one: CUDA_VISIBLE_DEVICES is empty.
"""
import base64
import contextlib
import csv
import difflib
import fractions
import gzip
import hashlib
import io
import itertools
import json
import math
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zlib

import onnx_file

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
RECORDED = SOURCE / "data" / "recorded" / "h200"
sys.path.insert(0, str(SOURCE / "tests"))
from skips import run_unittest  # noqa: E402
from usage import usage_of  # noqa: E402

BINARY = ""
UPDATE = False
PART = (1, 1)

VERBS = ["measure", "adapt", "predict", "choose", "run", "compile", "import", "facts", "fit", "merge", "report", "reproduce", "compare", "explain", "list", "doctor"]
SINGLE = "n1c1h28w28k64r3s3"
MULTI = "n1c64h56w56k64r3s3"
# Of every kind: one channel and many, small and large maps, 1 x 1 to 7 x 7, strided, padded, grouped, dilated, batched.
RANKED_SHAPES = (
    "n1c1h28w28k512r3s3", "n1c1h224w224k64r5s5", "n1c1h1024w1024k32r1s1", "n1c1h1024w1024k32r3s3",
    "n1c64h7w7k64r3s3", "n1c512h7w7k512r3s3_pad1x1", "n1c256h14w14k256r3s3", "n1c128h28w28k128r3s3", "n1c64h56w56k64r3s3",
    "n1c64h56w56k64r3s3_pad1x1", "n1c128h112w112k128r5s5", "n1c64h224w224k64r3s3_pad1x1", "n1c512h512w512k64r1s1",
    "n1c256h56w56k64r1s1", "n1c2048h7w7k512r1s1", "n1c3h224w224k64r7s7_str2x2_pad3x3", "n32c3h227w227k96r11s11_str4x4",
    "n32c256h14w14k256r3s3_pad1x1", "n8c64h56w56k64r3s3_pad2x2_dil2x2", "n1c256h28w28k256r3s3_pad1x1_g32", "n64c64h28w28k64r7s7")

# What both builds say, with a driver missing, no GPU visible, or no CUDA at build time.
NO_GPU = r"(?i)(driver|GPU|CUDA).*(install|start the container|check|run|build again)"


def heed_interrupts():
    """For a child: what started these tests may have ignored SIGINT, as shells do for what they put in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Result:
    def __init__(self, code, out, err):
        self.code, self.out_bytes, self.err = code, out, err.decode("utf-8", "replace")

    @property
    def out(self):
        return self.out_bytes.decode("utf-8")

    def json(self):
        def no_constant(name):
            raise ValueError(f"{name} is not JSON")

        return json.loads(self.out, parse_constant=no_constant)


class Cli(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="convcast_cli_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "work"
        self.folder.mkdir()
        self.home = pathlib.Path(folder.name) / "home"
        self.home.mkdir()

    def environment(self, **more):
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
        base = {"HOME": str(self.home), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "100", "CUDA_VISIBLE_DEVICES": ""}
        return {k: v for k, v in {**keep, **base, **more}.items() if v is not None}

    def cli(self, *words, stdin=b"", env=None, stdout=subprocess.PIPE, limits=(), timeout=60):
        def limit():
            for which, value in limits:
                resource.setrlimit(which, (value, value))

        done = subprocess.run([BINARY, *map(str, words)], input=stdin, stdout=stdout, stderr=subprocess.PIPE, cwd=self.folder,
                              env=self.environment(**(env or {})), preexec_fn=limit if limits else None, timeout=timeout)
        return Result(done.returncode, done.stdout or b"", done.stderr)

    def interrupted(self, which, *words, begun, within=30, env=None):
        """A signal when it has begun, by the seconds since its start, unless it has ended by then; it ends `within` so many more."""
        with subprocess.Popen([BINARY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              env=self.environment(**(env or {})), preexec_fn=heed_interrupts) as process:
            start = time.monotonic()
            while process.poll() is None and not begun(time.monotonic() - start):
                time.sleep(0.001)
            process.send_signal(which)
            start = time.monotonic()
            out, err = process.communicate(timeout=30)
            self.assertLess(time.monotonic() - start, within)
        return Result(process.returncode, out, err)

    def write(self, name, content):
        path = self.folder / name
        if isinstance(content, (dict, list)):
            content = json.dumps(content, indent=1)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def files(self):
        return {str(p.relative_to(self.folder)): p.read_bytes() if p.is_file() else None for p in self.folder.rglob("*")}

    def answered(self, code, *words, out=None, **options):
        """The answer of a command that ends with this exit code."""
        result = self.cli(*words, **options)
        self.assertEqual((result.code, result.out if out is not None else out), (code, out), f"{words}: {result.err}")
        return result

    def ok(self, *words, **options):
        result = self.answered(0, *words, **options)
        self.assertEqual(result.err, "", words)
        return result

    def assert_sentence(self, err, *needles, problems=1):
        """One sentence for a person (or one line for each problem of a file): no trace, no library's own words."""
        self.assertTrue(err.startswith("convcast: "), err)
        self.assertTrue(err.endswith("\n"), err)
        self.assertEqual(len(err.splitlines()), problems, err)
        self.assertGreater(len(err), 25, err)
        for word in ("terminate", "what()", "Traceback", "internal error", "std::", "AddressSanitizer", "runtime error"):
            self.assertNotIn(word, err)
        self.assertNotRegex(err, r"[\x00-\x08\x0b-\x1f\x7f]", "control characters reach the terminal")
        for needle in needles:
            self.assertRegex(err, needle)

    def refused(self, code, words, *needles, problems=1, **options):
        """The exit code, one sentence with the needles, nothing on stdout, no file made or changed."""
        before = self.files()
        result = self.cli(*words, **options)
        what = f"{words}: exit code {result.code}, stderr {result.err!r}"
        self.assertEqual(result.code, code, what)
        self.assertEqual(result.out_bytes, b"", what)
        self.assert_sentence(result.err, *needles, problems=problems)
        self.assertEqual(self.files(), before, what)
        return result

    def all_refused(self, code, table):
        for words, *needles in table:
            with self.subTest(words=words):
                self.refused(code, words, *needles)


def shipped(name):
    """A document that ships, by its path."""
    return json.loads((SOURCE / name).read_text())


def toy():
    return shipped("profiles/toy.json")


def recording(name):
    return json.loads(gzip.decompress((RECORDED / name).read_bytes()))


# ---- golden text ----

class Golden(Cli):
    def golden(self, name, text):
        path = HERE / "golden" / (name + ".txt")
        if UPDATE:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        wanted = path.read_text() if path.exists() else ""
        if text != wanted:
            self.fail("".join(difflib.unified_diff(wanted.splitlines(True), text.splitlines(True), str(path), "now")) +
                      "\nif this was meant: cli_test.py BINARY --update")

    def coloured_alike(self, *words):
        """With colours forced, the same text and nothing but switches of weight and colour more."""
        plain = self.ok(*words).out
        coloured = self.ok(*words, env={"NO_COLOR": None, "CLICOLOR_FORCE": "1"}).out
        self.assertIn("\x1b[", coloured)
        self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", coloured), plain)
        self.assertEqual(self.ok(*words, env={"CLICOLOR_FORCE": "1"}).out, plain, "NO_COLOR has the last word")

    def test_a_gpu_by_its_printed_name(self):
        words = ("--shape", SINGLE, "--strategy", "naive_global")
        for gpu in ("NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti", "GTX-1080 Ti"):
            self.assertEqual(self.ok("predict", "--gpu", gpu, *words).out, self.ok("predict", "--gpu", "gtx1080ti", *words).out)
        self.ok("predict", "--gpu", "Tesla K40m", *words)

    def test_help_of_a_narrow_terminal_keeps_its_lines(self):
        text = self.ok("--help", env={"COLUMNS": "80"}).out
        self.assertIn("\nusage:\n  convcast VERB [options]\n  convcast VERB --help\n", text)
        for command in ("choose --shape", "predict --gpu", "list", "explain"):
            self.assertRegex(text, rf"(?m)^  convcast {command}")

    def test_completion_knows_networks_numbers_and_figures(self):
        for words, found in ((["predict", "--network", ""], "resnet50"), (["choose", "--set", "dram_read"], "dram_read_bandwidth="),
                             (["report", "--figure", "error"], "error_cdf")):
            self.assertIn(f"{found}\t\n", self.ok("__complete", *words).out)

    def test_completion_knows_every_figure_of_what_ships(self):
        offered = set(self.ok("__complete", "report", "--figure", "").out.split())
        for document in ("h200", *(str(RECORDED / name) for name in (
                "chang.json.gz", "regime_map.json.gz", "boundaries.json.gz", "ladders/fashion_mnist_b1.json",
                "networks_whole/resnet50_b1.json", "scaling/two_gpus.json"))):
            error = self.cli("report", document, "--figure", "nothing", "-o", "x.svg").err
            drawn = re.search(r"figures with points: (.*)", error)[1].split(", ")
            self.assertEqual({name for name in drawn if not name.startswith("timeline_")} - offered, set(), document)

    def test_every_option_that_an_error_names_is_in_the_help(self):
        for verb in VERBS:
            listed = self.cli(verb, "--no-such-option").err.split("Options: ")[1].strip().split(", ")
            page = (SOURCE / "docs" / "cli" / (verb + ".md")).read_text().split("Options:")[1]
            self.assertEqual({option for option in listed if option not in page.split()} , set(), verb)

    def test_help_through_a_pipe_is_as_wide_as_other_answers(self):
        for verb in VERBS:
            for columns in (None, "100"):
                text = self.ok(verb, "--help", env={"COLUMNS": columns}).out
                self.assertLessEqual(max(len(line) for line in text.splitlines() if len(line.split()) > 1), 100, verb)

    def test_overview(self):
        self.golden("help", self.ok("--help").out)
        self.assertEqual(self.ok("-h").out, self.ok("--help").out)
        for verb in VERBS:
            self.assertRegex(self.ok("--help").out, rf"(?m)^  {verb} ")

    def test_help_fits_a_narrow_terminal(self):
        for verb in ["", *VERBS]:
            wide = self.ok(*[verb] * bool(verb), "--help").out
            for columns in (40, 60, 80):
                text = self.ok(*[verb] * bool(verb), "--help", env={"COLUMNS": str(columns)}).out
                self.assertEqual(text.split(), wide.split(), "the same words")
                for line in text.splitlines():
                    # A word that is wider than the terminal stands alone.
                    self.assertTrue(len(line) <= columns or len(line.split()) == 1, (verb, columns, line))

    def test_help_of_a_verb_is_its_page(self):
        """The options at the end of a page are those of cli/options.json; --update writes them anew."""
        self.assertEqual(sorted(p.stem for p in (SOURCE / "docs" / "cli").glob("*.md")), sorted(VERBS))
        for verb in VERBS:
            with self.subTest(verb=verb):
                path = SOURCE / "docs" / "cli" / (verb + ".md")
                if UPDATE:
                    path.write_text(self.ok(verb, "--help", env={"COLUMNS": "400"}).out)
                page = path.read_text()
                self.assertEqual(self.ok(verb, "--help").out.split(), page.split())
                self.assertEqual(self.ok(verb, "-h").out, self.ok(verb, "--help").out)
                self.assertEqual(self.ok(verb, "--help", env={"COLUMNS": "400"}).out, page)

    def test_list(self):
        self.golden("list", self.ok("list").out)
        self.golden("list_all", self.ok("list", "all").out)
        self.coloured_alike("list")

    def test_list_of_one_kind(self):
        listing = self.ok("list", "--json").json()
        self.assertLessEqual(len(self.ok("list").out.splitlines()), 50)
        for kind in ("baselines", "gpus", "studies", "networks"):
            text = self.ok("list", kind).out
            self.assertEqual(re.findall(r"(?m)^  (\S+)", text), listing[kind])
            self.assertIn(text, self.ok("list", "all").out)
        self.assertIn("NVIDIA H200", self.ok("list", "gpus").out)
        for columns in (40, 60, 80):
            for kind in ([], ["all"]):
                for line in self.ok("list", *kind, env={"COLUMNS": str(columns)}).out.splitlines():
                    self.assertTrue(len(line) <= columns or len(line.split()) == 1, (columns, line))
        self.all_refused(2, [(["list", "gpu"], "no kind 'gpu'; did you mean 'gpus'", "Kinds: strategies, baselines, gpus"),
                             (["list", "gpus", "--json"], "--json has everything; leave out 'gpus'"),
                             (["list", "gpus", "studies"], "unexpected word 'studies'")])

    def test_predict_the_papers_shapes(self):
        gpu = ("--gpu", "gtx1080ti", "--shape")
        self.golden("predict_filter_split", self.ok("predict", *gpu, "n1c1h1024w1024k32r3s3", "--strategy", "filter_split").out)
        self.golden("predict_28_512", self.ok("predict", *gpu, "n1c1h28w28k512r3s3").out)
        self.golden("predict_stride_fixed_block", self.ok("predict", *gpu, MULTI, "--strategy", "stride_fixed_block").out)

    def test_predict_with_the_whole_term_tree(self):
        for network, batch in (("fashion_mnist", "128"), ("mnist", "2048")):
            self.golden("predict_training_" + network,
                        self.ok("predict", "--network", network, "--training", "--batch", batch, env={"COLUMNS": "140"}).out)
        for gpu in ("k80", "gt750m"):  # of which the papers' authors had two
            self.golden("predict_two_" + gpu, self.ok("predict", "--network", "mnist", "--devices", "0,1", "--batch", "2048", "--gpu", gpu,
                                                      env={"COLUMNS": "140"}).out)
        self.golden("predict_toy", self.ok("predict", "--gpu", "toy", "--shape", MULTI, "--explain", "--rules").out)

    def test_predict_says_what_its_range_is(self):
        calibrated = self.ok("predict", "--gpu", "h200", "--shape", MULTI, "--strategy", "naive_global").out
        self.assertRegex(calibrated, r"nine of ten from [\d.]+ us to [\d.]+ us;")
        self.assertNotIn("nothing overlapped", calibrated)
        self.assertIn("nothing overlapped", self.ok("predict", "--gpu", "toy", "--shape", MULTI, "--strategy", "naive_global").out)

    def test_choose(self):
        words = ("choose", "--gpu", "toy", "--shape", SINGLE, "--shape", MULTI, "--top", "5")
        for columns in ("80", "160"):
            self.golden("choose_toy_" + columns, self.ok(*words, env={"COLUMNS": columns}).out)
        self.coloured_alike(*words)

    def test_choose_why(self):
        words = ("choose", "--gpu", "toy", "--shape", SINGLE, "--shape", MULTI, "--top", "3", "--why")
        self.golden("choose_why_toy", self.ok(*words).out)
        self.coloured_alike(*words)

    def test_choose_places_a_setting_on_a_published_gpu(self):
        self.golden("choose_place_k40m", self.ok(
            "choose", "--gpu", "k40m", "--study", "chen_general", "--strategy", "block_register",
            "--top", "1", "--place", "block_register").out)

    def test_rankings(self):
        """The three first of every ranking, without times: a change is meant, or it is a mistake."""
        words = [word for shape in RANKED_SHAPES for word in ("--shape", shape)]
        lines, last = [], None
        for case in self.ok("choose", "--gpu", "h200", *words, "--top", "3", "--json").json()["cases"]:
            if case["shape"] != last:
                lines.append(case["shape"])
                last = case["shape"]
            lines.append("    " + case["strategy"])
        self.assertEqual(sum(not line.startswith(" ") for line in lines), len(RANKED_SHAPES))
        self.golden("rankings_h200", "\n".join(lines) + "\n")

    def test_compare(self):
        words = ("compare", "toy", "gtx1080ti", "toy")
        for columns in ("60", "100"):
            self.golden("compare_" + columns, self.cli(*words, env={"COLUMNS": columns}).out)
        self.coloured_alike("compare", "toy", "toy")

    def test_a_schedule(self):
        text = self.ok("choose", "--network", "fashion_mnist", "--format", "schedule").out
        self.golden("schedule_fashion_mnist", re.sub(r"convcast [0-9.]+", "convcast VERSION", text))

    def test_top_says_how_many(self):
        for top in (1, 3):
            text = self.ok("choose", "--gpu", "toy", "--shape", SINGLE, "--top", top).out
            self.assertEqual(len(re.findall(r"(?m)^ +\d+ ", text)), top, text)

    def test_version(self):
        self.assertRegex(self.ok("--version").out, r"^convcast \d+\.\d+\.\d+\ndevice code [0-9a-f]{32}\nmeasuring code [0-9a-f]{32}\n$")

    def test_the_examples_of_the_pages_are_commands(self):
        """Each pipe line of docs/cli runs up to where a GPU is needed, and no stage of it is a wrong command line."""
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "convcast").symlink_to(BINARY)
        (self.folder / "data").symlink_to(SOURCE / "data")
        (self.folder / "examples").symlink_to(SOURCE / "examples")
        for name in ("my_gpu.json", "gpu1.json", "gpu2.json", "gpu3.json"):
            shutil.copy(SOURCE / "profiles" / "toy.json", self.folder / name)
        for name in ("samples.json", "later.json"):
            (self.folder / name).symlink_to(RECORDED / "samples.json")
        self.write("layers.csv", "name,c,h,w,k,r,s,pad,count\nconv2,64,56,56,64,3,3,1,3\n")
        self.write("resnet50.onnx", onnx_file.small_network())
        forecast = self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out
        for name in ("before.json", "after.json"):
            self.write(name, forecast)
        env = self.environment(PATH=f"{self.folder}/bin:{os.environ['PATH']}")
        recorded = RECORDED.is_dir()
        for page in sorted((SOURCE / "docs" / "cli").glob("*.md")):
            for line in re.findall(r"(?m)^    (convcast .*)$", page.read_text().split("Options:")[0]):
                if not recorded and ("recorded" in line or "from-raw" in line):
                    continue
                if ".onnx" in line and not pathlib.Path(BINARY).with_name("convcast-onnx").exists():
                    continue
                if ("--resume" in line or "report run.json" in line) and not (self.folder / "run.json").exists():
                    self.write("run.json", forecast)
                if "FOLDER" in line or (".pdf" in line and shutil.which("rsvg-convert") is None):
                    continue
                if "merge" in line:
                    for name, shape in (("shard_1.json", SINGLE), ("shard_2.json", MULTI)):
                        self.write(name, self.ok("predict", "--gpu", "toy", "--shape", shape, "--json").out)
                done = subprocess.run(["bash", "-c", line + '; echo "codes: ${PIPESTATUS[@]}" >&2'], cwd=self.folder, env=env,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
                codes = [int(c) for c in done.stderr.decode().rsplit("codes: ", 1)[1].split()]
                with self.subTest(page=page.name, line=line):
                    self.assertIn(codes[0], (0, 1, 4) if page.stem == "compare" else (0, 4), done.stderr)
                    self.assertNotIn(2, codes, done.stderr)


    def test_the_recorded_benchmark_reaches_what_is_asked(self):
        benchmark = shipped("data/recorded/benchmark.json")
        self.assertEqual(benchmark["threads"], 2)
        asked = [figure for figure in benchmark["figures"] if "asked" in figure]
        self.assertEqual([f["name"] for f in asked], ["choose resnet50_b1", "choose vgg16_b1", "closed form", "simulation",
                                                      "merge 200000 cases", "predict 200000 cases", "report 200000 cases"])
        for figure in asked:
            worse = max if figure["unit"] in ("s", "CPU s") else min
            self.assertLess(figure["peak_memory_bytes"], 4 << 30, figure)
            self.assertEqual(worse(figure["value"], figure["asked"]), figure["asked"], figure)

    def page_shows_what_its_commands_print(self, name):
        """Indented blocks of commands behind a $, each with its output, and the pictures that they write; --update writes both anew."""
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "convcast").symlink_to(BINARY)
        (self.folder / "bin" / "run_numbers.py").symlink_to(SOURCE / "tests" / "data" / "run_numbers.py")
        for folder in ("data", "examples"):
            (self.folder / folder).symlink_to(SOURCE / folder)
        (self.folder / "docs" / "figures").mkdir(parents=True)
        reads_onnx = pathlib.Path(BINARY).with_name("convcast-onnx").exists()
        env = self.environment(PATH=f"{self.folder}/bin:{os.environ['PATH']}", COLUMNS="100")
        page = SOURCE / name
        shown, commands = [], 0
        blocks = re.split(r"(?m)^((?:    .*\n)+)", page.read_text())
        for text, block in itertools.zip_longest(blocks[::2], blocks[1::2], fillvalue=""):
            shown.append(text)
            its = re.findall(r"(?m)^    \$ (.*)$", block)
            if not its or (".onnx" in block and not reads_onnx):
                shown.append(block)  # commands that are not run: they need a GPU, or a shell of the reader's, or the ONNX library
                continue
            for command in its:
                done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=env, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
                # 141: head has read what it wants of convcast's output. 1: the profiles that are compared differ.
                allowed = (0, *[141] * ("| head" in command), *[1] * command.startswith("convcast compare"))
                self.assertIn(done.returncode, allowed, f"{command}\n{done.stdout.decode()}")
                commands += 1
                lines = [line for line in done.stdout.decode().splitlines() if line.strip()]
                shown.append("    $ " + command + "\n" + "".join(f"    {line}".rstrip() + "\n" for line in lines))
        self.assertGreaterEqual(commands, 3)
        now = "".join(shown)
        pictures = [os.path.normpath(pathlib.Path(name).parent / path) for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", now)]
        if UPDATE:
            page.write_text(now)
            for picture in pictures:
                if (self.folder / picture).exists():
                    shutil.copy(self.folder / picture, SOURCE / picture)
        if now != page.read_text():
            self.fail("".join(difflib.unified_diff(page.read_text().splitlines(True), now.splitlines(True), str(page), "now")) +
                      "\nif this was meant: cli_test.py BINARY --update")
        for picture in pictures:
            self.assertTrue((SOURCE / picture).exists(), f"{name} shows {picture}, which does not exist")
            if (self.folder / picture).exists():
                self.assertEqual((SOURCE / picture).read_bytes(), (self.folder / picture).read_bytes(),
                                 f"{picture} is not what the command of {name} draws; cli_test.py BINARY --update")

    def test_the_page_of_other_gpus(self):
        self.page_shows_what_its_commands_print("docs/other_gpus.md")

    def test_the_readme(self):
        self.page_shows_what_its_commands_print("README.md")
        self.assertLess(len((SOURCE / "README.md").read_text().splitlines()), 120)

    def test_the_tutorial_of_a_new_gpu(self):
        self.page_shows_what_its_commands_print("docs/tutorials/new_gpu.md")

    def test_the_tutorial_of_choosing(self):
        self.page_shows_what_its_commands_print("docs/tutorials/choosing.md")

    def test_the_tutorial_of_a_papers_figure(self):
        self.page_shows_what_its_commands_print("docs/tutorials/paper_figure.md")

    def test_every_link_of_the_docs_leads_to_a_file(self):
        for page in [SOURCE / "README.md", *(SOURCE / "docs").rglob("*.md")]:
            for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
                if "://" not in link:
                    self.assertTrue((page.parent / link).exists(), f"{page.relative_to(SOURCE)} links to {link}, which does not exist")


class Adapting(Cli):
    """`convcast adapt` without a GPU: what was recorded of an H100 stands for the stages that need one."""

    def recorded_folder(self, name="my_h100"):
        (self.folder / name).mkdir()
        shutil.copy(SOURCE / "data/recorded/h100/profile.json", self.folder / name)
        shutil.copy(SOURCE / "data/recorded/h100/layers.json.gz", self.folder / name / "run.json.gz")
        return name

    def test_a_folder_that_has_a_run_is_fitted(self):
        name = self.recorded_folder()
        measured = {file: self.files()[f"{name}/{file}"] for file in ("profile.json", "run.json.gz")}
        result = self.answered(0, "adapt", "-o", name + "/")
        self.assertRegex(result.err, "^convcast: note: no GPU is used, and my_h100 is fitted to what was measured before: .+\n$")
        files = self.files()
        self.assertEqual({file: files[f"{name}/{file}"] for file in measured}, measured)
        self.assertEqual({file for file in files if file.startswith(name + "/")},
                         {f"{name}/{file}" for file in (*measured, "calibration.json", "README.md")})
        calibration = json.loads(files[f"{name}/calibration.json"])
        self.assertEqual(calibration["borrowed"], "NVIDIA H200")
        self.assertEqual(calibration["profile"]["name"], "NVIDIA H100 80GB HBM3")
        self.assertEqual(calibration["cases"], calibration["test"]["cases"])
        self.assertAlmostEqual(calibration["scale"], 1.0, delta=0.1)
        self.assertLess(calibration["test"]["fitted"], calibration["test"]["assumed"])
        self.assertIn(f"off by {100 * calibration['test']['fitted']:.1f} %", " ".join(result.out.split()))
        self.assertIn(f"off by {100 * calibration['test']['fitted']:.1f} %", " ".join(files[f"{name}/README.md"].decode().split()))
        again = self.cli("adapt", "-o", name, "--json")
        self.assertEqual(again.json(), calibration)
        self.assertEqual(self.files(), files)

    def test_every_verb_takes_the_folder(self):
        name = self.recorded_folder()
        bare = self.ok("predict", "--gpu", name, "--shape", MULTI, "--strategy", "implicit_gemm", "--json").json()
        self.cli("adapt", "-o", name)
        own = self.ok("predict", "--gpu", name, "--shape", MULTI, "--strategy", "implicit_gemm", "--json").json()
        none = self.ok("predict", "--gpu", name, "--calibration", "none", "--shape", MULTI, "--strategy", "implicit_gemm", "--json").json()
        scale = json.loads((self.folder / name / "calibration.json").read_text())["scale"]
        forecasts = [document["cases"][0]["prediction"] for document in (bare, own, none)]
        self.assertAlmostEqual(forecasts[1]["time_s"] / forecasts[0]["time_s"], scale, places=6)
        self.assertAlmostEqual(value_of(forecasts[1]["term"]), forecasts[1]["time_s"], delta=1e-12)
        widths = [its["time_high_s"] / its["time_low_s"] for its in forecasts]
        self.assertLess(widths[1], widths[2])
        self.assertIn("NVIDIA H100 80GB HBM3, content", own["conditions"]["calibration"])
        self.assertTrue(any("borrowed; scale" in said for said in forecasts[1]["assumptions"]), forecasts[1]["assumptions"])
        for words in (("choose", "--top", "1", "--shape", MULTI), ("choose", "--gpu", "h200", "--top", "1", "--shape", MULTI),
                      ("report", name, "-o", "page"), ("explain", "sm_clock")):
            self.ok(*words, *(() if words[0] == "report" else ("--gpu", name)))
        self.assertIn(self.cli("compare", "h200", name).code, (0, 1))
        self.refused(2, ["predict", "--gpu", name, "--shape", MULTI, "-o", f"{name}/profile.json"], "would take the place of")

    def test_what_cannot_be_adapted_is_said(self):
        (self.folder / "empty").mkdir()
        self.write("file", "")
        self.all_refused(2, [
            (["adapt"], "no folder given", "adapt -o my_gpu"), (["adapt", "-o", "x.json"], "would be a folder"),
            (["adapt", "-o", "x", "--minutes", "0"], "from 1 to 1000")])
        self.all_refused(4, [(["adapt", "-o", "new"], "new lacks what is measured on a GPU", NO_GPU), (["adapt", "-o", "empty"], NO_GPU)])
        self.refused(3, ["predict", "--gpu", "empty", "--shape", MULTI], "without profile.json", "convcast adapt -o empty")
        name = self.recorded_folder()
        run = json.loads(gzip.decompress((self.folder / name / "run.json.gz").read_bytes()))
        few = [case for case in run["cases"] if "strategy" in case][:19]
        self.write(f"{name}/run.json.gz", {**run, "cases": few})
        self.refused(2, ["adapt", "-o", name], "too little was measured", "--minutes 10", problems=2)
        whole = self.recorded_folder("whole")
        self.write(f"{whole}/README.md", "my own notes")
        self.refused(2, ["adapt", "-o", whole], "README.md was not written by adapt", "adapt -o my_gpu")
        self.assertEqual((self.folder / whole / "README.md").read_text(), "my own notes")
        (self.folder / whole / "README.md").unlink()
        profile = json.loads((self.folder / whole / "profile.json").read_text())
        profile["limits"]["l2_bytes"] += 4096
        self.write(f"{whole}/profile.json", profile)
        self.refused(2, ["adapt", "-o", whole], "was forecast from another profile", problems=2)
        self.write(f"{name}/run.json.gz", "{}")
        self.refused(3, ["adapt", "-o", name], "run.json.gz", problems=2)
        self.write(f"{name}/profile.json", "{")
        self.refused(3, ["adapt", "-o", name], "profile.json", problems=2)


class Answers(Cli):
    """What predict and choose say first: verdicts and tables."""
    ONE = ("predict", "--shape", MULTI, "--strategy", "map_stream")

    def test_a_verdict_and_what_stands_behind_it(self):
        verdict = self.ok(*self.ONE).out
        for label in ("time", "regime", "time goes to", "rate", "measured", "faster", "more"):
            self.assertRegex(verdict, rf"(?m)^  {label} ", verdict)
        self.assertRegex(verdict, r"(?s)32\.9 us, .*forecast [+-]?\d+ %\s+\(recording\s+partition_2bcde of \d{4}-")
        self.assertNotIn("papers' rules  ", verdict)
        self.assertNotIn("term by term:", verdict)
        depths = [self.ok(*self.ONE, "--explain", depth).out.split("term by term:\n")[1] for depth in (1, 2, 9)]
        self.assertEqual([len(text.splitlines()) for text in depths[:2]], [1, 3])
        self.assertEqual(self.ok(*self.ONE, "--explain=2").out.split("term by term:\n")[1], depths[1])
        self.assertTrue(self.ok(*self.ONE, "--explain").out.startswith(verdict.split("  more ")[0]))
        self.refused(2, [*self.ONE, "--explain", "0"], "--explain must be an integer from 1 to 100, got '0'")

    def test_table_1_of_the_paper_step_by_step(self):
        words = ("predict", "--gpu", "gtx1080ti", "--shape", MULTI, "--strategy", "stride_fixed_block:segment_bytes=64,tile_w=128,tile_k=64")
        text = self.ok(*words, "--rules").out
        # 484 GB/s / 1480 MHz = 327; * 258 clk = 84,366; / 4 B up to a warp = 21,120; / 28 SMs up to a warp = 768; / 32; * 4 B; * 28
        for name, number in (("FMAs a core and clock", "2"), ("N_FMA, FMAs of an SM", "66,048"), ("bytes a clock", "327"),
                             ("data in flight, bytes", "84,366"), ("threads, 4 bytes each", "21,120"), ("threads of an SM", "768"),
                             ("warps of an SM", "24"), ("bytes of an SM", "3,072"), ("V_s, bytes of all SMs", "86,016"),
                             # W'y = ceil(64 / 12); 64 * 64 + 6 * 128 * 4
                             ("W'y", "6"), ("bytes a step", "7,168")):
            self.assertRegex(text, rf"(?m)^    {re.escape(name)} +{number} ")
        self.assertRegex(text, r"N_FMA, FMAs of an SM +66,048 +33,024 in 258 clk")
        rules = self.ok(*words, "--json").json()["cases"][0]["prediction"]["rules"]
        self.assertEqual({k: rules[k] for k in ("bytes_per_clock", "data_bytes", "threads", "bytes_per_sm", "hardware_n_fma", "step_lines",
                                                "step_bytes")},
                         {"bytes_per_clock": 327, "data_bytes": 84366, "threads": 21120, "bytes_per_sm": 3072, "hardware_n_fma": 33024,
                          "step_lines": 6, "step_bytes": 7168})

    def test_rules_of_a_shape_that_the_kernel_cannot_do(self):
        result = self.cli("predict", "--gpu", "gtx1080ti", "--shape", "n1c1h512w512k32r5s5", "--strategy", "map_split:pieces=2,buffers=2", "--rules")
        self.assertEqual(result.code, 1)
        self.assertRegex(result.out, r"infeasible: ")
        self.assertRegex(result.out, r"(?m)^    Th2 +[\d,]+ ")
        case = self.cli("predict", "--gpu", "gtx1080ti", "--shape", "n1c1h512w512k32r5s5", "--strategy", "map_split:pieces=2,buffers=2", "--json").json()["cases"][0]
        self.assertEqual((case["status"], case["rules"]["n_fma"]), ("infeasible", 66048))

    def test_rates_by_hand(self):
        prediction = self.ok(*self.ONE, "--json").json()["cases"][0]["prediction"]
        fmas, work, rates = 64 * 64 * 9 * 54 * 54, prediction["work"], prediction["rates"]
        self.assertAlmostEqual(rates["flop_per_s"] * prediction["time_s"], 2 * fmas, delta=1)
        self.assertAlmostEqual(rates["fmas_per_l2_byte"], fmas / (work["l2_read_bytes"] + work["l2_write_bytes"]))
        self.assertAlmostEqual(rates["fmas_per_dram_byte"], fmas / (work["dram_read_bytes"] + work["dram_write_bytes"]))
        profile = shipped("profiles/h200.json")
        peak = 2 * profile["ffma_rate"]["value"] * profile["sm_clock"]["value"] * 132
        self.assertAlmostEqual(rates["peak_share"], rates["flop_per_s"] / peak)

    def test_many_cases_are_a_table_with_a_total(self):
        text = self.ok("predict", "--study", "vgg16_b1", "--strategy", "winograd").out
        self.assertRegex(text, r"(?m)^total: [\d.]+ us for 13 calls of 9 shapes; [\d.]+x the speed of light$")
        times = [c["prediction"]["time_s"] for c in self.ok("predict", "--study", "vgg16_b1", "--strategy", "winograd", "--json").json()["cases"]]
        counts = shipped("data/studies/vgg16_b1.json")["counts"]
        total = 1e6 * sum(t * n for t, n in zip(times, counts))
        self.assertIn(f"total: {total:.0f} us", text)
        rows = [float(line.split()[0]) for line in self.ok("predict", "--shape", MULTI).out.splitlines() if re.match(r" *\d", line)]
        self.assertEqual(rows, sorted(rows), "one shape's strategies, the fastest first")
        self.assertEqual(len(rows), 10)

    def test_choose_says_what_ties(self):
        text = self.ok("choose", "--shape", "n1c128h28w28k128r3s3", "--tensor-cores").out
        self.assertRegex(text, r"(?m)^  take +implicit_gemm_3xtf32:.* \*$")
        self.assertRegex(text, r"(?s)a tie by interval with .*winograd 1\.\d\dx \(rank \d+\)")
        self.assertRegex(text, r"without tensor cores winograd")
        self.assertRegex(text, r"(?m)^ +2 .* implicit_gemm_3xtf32: ")
        self.assertIn("not possible: filter_split, map_split", text)
        plain = self.ok("choose", "--shape", "n1c128h28w28k128r3s3").out
        self.assertEqual(plain.count("3xtf32"), 1, plain)
        self.assertRegex(plain, r"(?m)^  otherwise +on tensor cores implicit_gemm_3xtf32, 0\.\d\dx; --tensor-cores ranks it too$")
        self.assertIn("3xtf32", self.ok("choose", "--shape", "n1c128h28w28k128r3s3", "--strategy", "implicit_gemm_3xtf32").out)
        times = [c["prediction"]["time_s"] for c in self.ok("choose", "--shape", MULTI, "--top", "40", "--json").json()["cases"]]
        self.assertEqual(times, sorted(times))

    def test_what_ifs_stand_in_one_table(self):
        text = self.ok("choose", "--shape", MULTI, "--sms", "32,64,132").out
        for sms in (32, 64, 132):
            self.assertRegex(text, rf"(?m)^h200, {sms} SMs +[\d.]+ ")
        alone = self.ok("choose", "--shape", MULTI, "--sms", "64", "--top", "1", "--json").json()["cases"][0]
        rows = self.ok("choose", "--shape", MULTI, "--sms", "32,64", "--top", "1", "--json").json()
        self.assertEqual(rows["schema"], "convcast/run/1")
        self.assertEqual([(case["gpu"], case["variant"]) for case in rows["cases"]], [("h200", "h200, 32 SMs"), ("h200", "h200, 64 SMs")])
        self.assertEqual(rows["cases"][1]["prediction"]["time_s"], alone["prediction"]["time_s"])
        several = self.write("several.json", json.dumps(rows))
        self.refused(3, ["report", several, "-o", "page"], "several.json: is an answer for several GPUs", "one --gpu")
        text = self.ok("predict", "--shape", "n1c64h224w224k64r1s1", "--strategy", "naive_global", "--set", "dram_read_bandwidth=x2").out
        self.assertIn("dram_read_bandwidth 9.323 TB/s: supposed, x2, where the profile has 4.661 TB/s", " ".join(text.split()))
        self.assertEqual(re.findall(r"(?m)^([AB]) +[\d.]+ ", text), ["A", "B"])
        self.assertRegex(text, r"(?m)^A  h200\nB  h200, dram_read_bandwidth=x2$")
        for columns in ("60", "80", "100"):
            narrow = self.ok("choose", "--study", "alexnet_b1", "--set", "dram_read_bandwidth=x2", "--set", "dram_write_bandwidth=x2",
                             env={"COLUMNS": columns}).out
            self.assertLessEqual(max(map(len, narrow.splitlines())), int(columns), narrow)
            self.assertRegex(narrow, r"(?m)^n1c64h27w27k192r5s5_pad2x2 +(1 +)?[\d.]+ +[\d.]+ +[-+.\d]+")
            network = self.ok("predict", "--network", "resnet18", env={"COLUMNS": columns}).out
            self.assertLessEqual(max(map(len, network.splitlines())), int(columns), network)
            shape = "n1c64h56w56k64r3s3_pad1x1 +" if columns == "100" else ""
            for layer in "ab": # told apart in every window
                self.assertRegex(network, rf"(?m)^conv2_1{layer}\S+( …)? +{shape}winograd\S* +[\d.]+ +[\d.]+ %( +[\d.]+x)?( +\S+ -\d+ %)?$")
        text = self.ok("choose", "--shape", MULTI, "--gpu", "h200", "--gpu", "toy").out
        self.assertRegex(text, r"(?m)^toy +[\d.]+ ")
        swept = self.ok("choose", "--shape", MULTI, "--sweep", "h=w=14:224:*2").out
        for size in (14, 28, 56, 112, 224):
            self.assertIn(f"n1c64h{size}w{size}k64r3s3 ", swept)
        self.assertIn("where it turns", swept)
        self.assertRegex(swept, "takes over from")

    def test_very_many_ranks_have_the_same_verdict(self):
        """Terms of very many cases are dropped, but not those that the verdict reads."""
        few, many = (self.ok("choose", "--shape", MULTI, "--top", top).out for top in ("3", "3000"))
        self.assertEqual([line for line in few.splitlines() if "time goes to" in line],
                         [line for line in many.splitlines() if "time goes to" in line])

    def test_a_table_never_loses_shape_and_strategy(self):
        """Whatever the window: other columns go, or a row goes on in lines below it."""
        self.write("layers.csv", "name,c,h,w,k,r,s,pad,count\n" + "".join(
            f"features/block_{i}/a_name_that_is_long_as_those_of_exporters/{i},{c},{h},{h},{c},3,3,1,{i}\n"
            for i, c, h in ((1, 64, 56), (2, 128, 28), (3, 512, 7))))
        asked = [["--shapes", "layers.csv"], ["--study", "resnet50_b1"], ["--shapes", "layers.csv", "--set", "dram_read_bandwidth=x2"]]
        if pathlib.Path(BINARY).with_name("convcast-onnx").exists():
            self.write("net.onnx", onnx_file.small_network())
            asked.append(["--shapes", "net.onnx", "--batch", "1"])
        asked = [["choose", *words] for words in asked] + [["predict", *asked[0], "--strategy", "implicit_gemm"],
                                                           ["predict", "--network", "resnet18"]]
        for words in asked:
            document = self.cli(*words, "--json") if "--set" not in words else self.cli(*words[:-2], "--json")
            cases = document.json()["cases"]
            if "launches" in cases[0]:
                cases = [{"shape": launch["shape"], "strategy": launch["candidates"][0]["strategy"]}
                         for launch in cases[0]["launches"] if launch.get("candidates")]
            firsts = {case["shape"]: case["strategy"].split(":")[0] for case in reversed(cases)}
            for columns in (40, 60, 80, 100, 120):
                text = self.cli(*words, env={"COLUMNS": str(columns)}).out
                with self.subTest(words=words, columns=columns):
                    rows = re.sub(r"\n +", "  ", text)  # a row with the lines below it
                    for shape, strategy in firsts.items():
                        self.assertTrue([row for row in rows.splitlines() if re.search(rf"\b{shape}(?!\w)", row)
                                         and re.search(rf"\b{strategy}\b", row)], f"{shape} {strategy}\n{text}")
                    self.assertLessEqual(max(map(len, text.splitlines())), columns, text)

    def test_a_list_says_which_strategy_in_every_window(self):
        layers = "name,c,h,w,k,r,s,pad,count\nconv2_a_long_name,64,56,56,64,3,3,1,3\nconv5,512,7,7,512,3,3,1,2\n"
        name = self.write("layers.csv", layers)
        for columns in ("60", "80", "100"):
            for verb in ("choose", "predict"):
                text = self.ok(verb, "--shapes", name, env={"COLUMNS": columns}).out
                self.assertRegex(text, r"(?m)^conv5 +[\d.]+ .*(winograd|implicit_gemm\w*)", (verb, columns))
                if columns != "60":
                    self.assertLessEqual(max(map(len, text.splitlines())), int(columns), text)

    def test_a_supposed_gpu_was_not_measured(self):
        words = ("choose", "--shape", MULTI, "--format", "csv", "--top", "1")
        rows = list(csv.DictReader(io.StringIO(self.ok(*words, "--set", "dram_read_bandwidth=x2").out)))
        self.assertEqual([row["variant"] for row in rows], ["h200", "h200, dram_read_bandwidth=x2"])
        self.assertEqual([bool(row["measured_s"]) for row in rows], [True, False])
        self.assertIn("  measured ", self.ok(*words[:3]).out)
        twice = self.ok(*words, "--set", "dram_read_bandwidth=2x").out
        self.assertEqual(twice.replace("=2x", "=x2"), self.ok(*words, "--set", "dram_read_bandwidth=x2").out)
        for long, short in (("9.6TB/s", "9.6e12"), ("9600 GB/s", "9.6e12")):
            self.assertEqual(*(self.ok(*words, "--set", "dram_read_bandwidth=" + value).out.replace(value, "") for value in (long, short)))
        self.refused(2, [*words, "--set", "dram_read_bandwidth=9.6GHz"], "expected x and a factor")
        same = self.ok(*words[:3], "--set", "dram_read_bandwidth=x1").out
        self.assertNotIn("supposed", same)

    def test_a_networks_table_has_its_total_and_what_was_measured(self):
        text = self.ok("predict", "--network", "resnet50", "--batch", "32").out
        self.assertRegex(" ".join(text.split()), r"measured 4\.80 ms, the graph replayed in a row; forecast [-+][\d.]+ % \(recording")
        table = self.ok("predict", "--network", "alexnet", "--format", "markdown").out
        self.assertRegex(table, r"\| share \(%\) \|")
        self.assertRegex(table, r"(?m)^total: \d+ us in one CUDA graph of \d+ nodes, batch 1$")
        rows = list(csv.DictReader(io.StringIO(self.ok("predict", "--network", "alexnet", "--batch", "32", "--format", "csv").out)))
        operators = [row["operators"] for row in rows]
        self.assertEqual(len(operators), len(set(operators)), operators)

    def test_what_is_taken_is_in_fp32_in_every_verb(self):
        """One rule: tensor cores only by --tensor-cores or by name, and the answer says what they would change."""
        words = ("choose", "--study", "resnet50_b1")
        plain, with_them = self.ok(*words).out, self.ok(*words, "--tensor-cores").out
        self.assertNotIn("3xtf32", plain)
        self.assertIn("implicit_gemm_3xtf32 *", with_them)
        self.assertNotIn("left out", with_them)
        said = re.search(r"strategies on tensor cores are left out, of which one would be first (\d+) of (\d+) times, "
                         r"total ([\d.]+ us); with them: --tensor-cores", " ".join(plain.split()))
        self.assertEqual(said[3], re.search(r"total: ([\d.]+ us)", with_them)[1])
        self.assertEqual(int(said[1]), with_them.count("3xtf32 *"))
        text = " ".join(self.ok("predict", "--study", "resnet50_b1").out.split())
        total, tensor = re.search(r"total: ([\d.]+) us .* with those on tensor cores ([\d.]+) us", text).groups()
        self.assertLess(float(tensor), float(total))
        fastest = {"predict": {}, "choose": {}}  # in full precision: the printed totals are rounded
        for verb, its in fastest.items():
            for row in csv.DictReader(io.StringIO(self.ok(verb, "--study", "resnet50_b1", "--format", "csv").out)):
                if row["status"] == "ok" and row["strategy"] != "implicit_gemm_3xtf32":
                    its[row["shape"]] = min(float(row["time_s"]), its.get(row["shape"], 1.0))
        self.assertLess(sum(fastest["choose"].values()), sum(fastest["predict"].values()), "choose searches the knobs")
        self.assertIn("knobs are those that each strategy takes of itself; `convcast choose` searches them", text)
        faster = self.ok("predict", "--shape", "n1c128h28w28k128r3s3", "--strategy", "naive_global").out
        self.assertRegex(faster, r"(?m)^  faster +(winograd|implicit_gemm):")
        self.refused(2, ["predict", "--shape", MULTI, "--tensor-cores"], "--tensor-cores is of a network.*choose --tensor-cores")
        self.refused(2, ["run", "--network", "fashion_mnist", "--tensor-cores"], "--network and --tensor-cores were both given")

    def test_titles_say_what_was_supposed(self):
        self.write("layers.csv", self.LAYERS)
        sms, twice = "NVIDIA H200 with 64 of its 132 SMs", "dram_read_bandwidth=x2"
        for words, title in (
                (["predict", "--network", "resnet18", "--sms", "64"], f"resnet18 on {sms}, batch 1"),
                (["choose", "--network", "resnet18", "--set", twice], f"resnet18 on NVIDIA H200 with {twice}, batch 1"),
                (["predict", "--network", "fashion_mnist", "--ladder", "--sms", "64"], f"fashion_mnist on {sms}, batch 1, forecast"),
                (["predict", "--shape", MULTI, "--sms", "64"], f"{MULTI} (output 54 x 54) on {sms}"),
                (["predict", "--shape", MULTI, "--strategy", "naive_global", "--sms", "64"], f"{MULTI} (output 54 x 54) on {sms}, naive_global"),
                (["choose", "--shape", MULTI, "--sms", "64"], f"{MULTI} (output 54 x 54) on {sms}"),
                (["choose", "--shapes", "layers.csv", "--sms", "64", "--batch", "8"],
                 f"what to take, the first of each ranking on {sms}, batch 8"),
                (["predict", "--shapes", "layers.csv", "--sms", "64", "--batch", "8"], f"on {sms}, batch 8")):
            self.assertTrue(self.ok(*words, env={"COLUMNS": "160"}).out.startswith(title), (words, title))
        for verb in ("predict", "choose"):
            text = " ".join(self.ok(verb, "--help").out.split())
            self.assertIn("numbers that belong together each need their own --set", text)
            self.assertNotIn("are set together", text)

    def test_recordings_beside_the_choice_are_named_for_what_they_are(self):
        run = self.ok("choose", "--shape", MULTI, "--top", "2", "--json").json()
        run["cases"] += self.ok("predict", "--shape", MULTI, "--strategy", "cudnn:graph", "--strategy", "cudnn:tf32", "--json").json()["cases"]
        for case, us in zip(run["cases"], (3.0, 2.4, 5.0, 1.5)):  # of ours no recording has times as short
            case["measurements"] = [{"time_s": us * 1e-6, "samples_s": [us * 1e-6], "l2": "cold", "method": "events", "stop_reason": "count"}]
        run["conditions"]["gpu"] = "NVIDIA H200"
        self.write("mine.json", run)
        words = ("choose", "--shape", MULTI, "--recorded", "mine.json")
        text = re.sub(r"\s+", "", self.ok(*words).out)
        for needle in ("measured3.00us,", f"fastestours{run['cases'][1]['strategy']},measured2.40us,0.80xwhatismeasuredhere(recordingmine.json)",
                       "librariesfastestinFP32cudnn:graph5.00us;inTF32,lessexactandPyTorch'sdefault,cudnn:tf321.50us"):
            self.assertIn(needle, text)
        self.assertNotIn("fastest ours", self.ok(*words, "--strategy", "naive_global").out, "only of what was ranked")
        self.assertRegex(" ".join(self.ok("choose", "--shape", MULTI).out.split()),
                         r"fastest in FP32 im2col_cublas 20\.2 us; in TF32, less exact and PyTorch's default, cudnn:tf32 14\.2 us")

    def test_choose_measure_without_a_gpu_is_the_forecast(self):
        words = ("choose", "--shape", MULTI, "--measure", "3")
        got = self.cli(*words)
        self.assertEqual((got.code, got.out), (4, self.ok(*words[:-2], "--top", "3").out))
        self.assert_sentence(got.err, "nothing was measured, so the ranking is the forecast's", NO_GPU, "measure --from-raw")
        self.assertEqual(self.cli(*words, "--json").json(), self.ok(*words[:-2], "--top", "3", "--json").json())

    def test_a_network_says_what_it_leaves_out(self):
        for verb in ("predict", "choose"):
            text = " ".join(self.ok(verb, "--network", "resnet18").out.split())
            self.assertIn("strategies on tensor cores are left out; with them: --tensor-cores", text)
            self.assertEqual(self.ok(verb, "--network", "resnet18", "--tensor-cores", "--json").json(),
                             self.ok(verb, "--network", "resnet18", "--json", "--strategy", "implicit_gemm", "--strategy", "winograd",
                                     "--strategy", "implicit_gemm_3xtf32").json())
            named = self.ok(verb, "--network", "resnet18", "--strategy", "implicit_gemm", "--strategy", "winograd",
                            "--strategy", "implicit_gemm_3xtf32").out
            self.assertNotIn("left out", named)
            self.assertIn("implicit_gemm_3xtf32", named)
            self.assertNotIn("left out", self.ok(verb, "--network", "resnet18", "--gpu", "gtx1080ti").out)

    LAYERS = ("name,c,h,w,k,r,s,pad,count\nconv1,3,224,224,64,7,7,3,1\nconv2,64,56,56,64,3,3,1,3\n"
              "conv5,512,7,7,512,3,3,1,2\nconv9,512,7,7,512,1,1,0,2\n")

    def test_what_ifs_of_a_list_stand_side_by_side(self):
        name = self.write("layers.csv", self.LAYERS)
        for verb, strategy in (("choose", ()), ("predict", ("--strategy", "implicit_gemm"))):
            lines = self.ok(verb, "--shapes", name, *strategy, "--set", "dram_read_bandwidth=x2").out.splitlines()
            self.assertRegex(lines[1], r"^total: A [\d.]+ us, B [\d.]+ us \([+-][\d.]+ %\)$")
            rows = [line for line in lines if line.startswith("conv")]
            self.assertEqual([row.split()[0] for row in rows], ["conv1", "conv2", "conv5", "conv9"])
            for row in rows:
                self.assertRegex(row, r" \d+ +[\d.]+ +[\d.]+ +[-+]?[\d.]+  \w+")
            total = next(line for line in lines if line.startswith("total "))
            self.assertEqual(total.split()[1], "8")
            self.assertEqual(total.split()[2:4], re.findall(r"([\d.]+) us", lines[1]))

    def test_several_gpus_say_what_they_are_without(self):
        """No interval where there is no calibration, and what is assumed in a line for each GPU."""
        words = ("predict", "--shape", MULTI, "--strategy", "naive_global", "--gpu", "h200", "--gpu", "gtx1080ti", "--gpu", "k40m")
        text = self.ok(*words).out
        self.assertRegex(text, r"(?m)^h200 +[\d.]+ +[\d.]+ to [\d.]+ ")
        for gpu in ("gtx1080ti", "k40m"):
            self.assertRegex(text, rf"(?m)^{gpu} +[\d,.]+ +- ")
            self.assertRegex(text, rf"(?m)^{gpu}: .*; and \d+ more$")
        self.assertLess(len(text.splitlines()), 16, text)
        self.assertGreater(len(self.ok(*words, "--explain", "1").out.splitlines()), 30)

    def test_no_strategy_takes_over_inside_a_tie(self):
        text = self.ok("choose", "--shape", MULTI, "--sweep", "h=w=28:224:8").out
        self.assertRegex(text, r"a tie of \w+ and \w+")
        self.assertNotRegex(text, r"winograd takes over from implicit_gemm_3xtf32|implicit_gemm_3xtf32 takes over from winograd")
        rows = self.ok("choose", "--shape", MULTI, "--sweep", "c=k=16,256", "--sweep", "h=w=14,224").out
        for line in rows.split("line by line")[1].splitlines()[1:-1]:
            self.assertNotIn("h14w14", line, "the first of a row is not held against the last of the row before")

    def test_a_time_from_elsewhere_stands_by_its_layer(self):
        name = self.write("layers.csv", self.LAYERS)
        words = ("predict", "--shapes", name, "--strategy", "implicit_gemm", "--time")
        text = self.ok(*words, "n1c64h56w56k64r3s3_pad1x1 mine 12us").out
        names = [line.split()[0] for line in text.splitlines() if line.startswith("conv")]
        self.assertEqual(names, ["conv1", "conv2", "conv2", "conv5", "conv9"])
        self.assertRegex(text, r"(?m)^conv2 .* 3 .* 12\.0 +1\.\d\d  elsewhere:mine$")
        self.assertNotIn("no time for", text)
        result = self.answered(0, *words, "n1c64h56w57k64r3s3_pad1x1 mine 12us")
        self.assert_sentence(result.err, "no such layer was asked: n1c64h56w57k64r3s3_pad1x1")
        self.assertNotIn("elsewhere", result.out)
        text = self.ok("predict", "--shape", MULTI, "--time", MULTI + " mine 12us").out
        order = re.findall(r"(?m)(implicit_gemm|elsewhere:mine|map_stream)$", text)
        self.assertEqual(order, ["implicit_gemm", "elsewhere:mine", "map_stream"])

    def test_a_list_of_one_layer_has_its_name_and_total(self):
        name = self.write("layers.csv", self.LAYERS.splitlines()[0] + "\n" + self.LAYERS.splitlines()[2] + "\n")
        for verb, more in (("choose", ()), ("predict", ("--strategy", "winograd"))):
            text = self.ok(verb, "--shapes", name, *more).out
            self.assertTrue(text.startswith("conv2, n1c64h56w56k64r3s3_pad1x1 (output 56 x 56) on"), text)
            self.assertRegex(text, r"  total +[\d.]+ us for 3 calls")
        row, = csv.DictReader(io.StringIO(self.ok("predict", "--shape", MULTI, "--strategy", "winograd", "--format", "csv").out))
        self.assertEqual(row["count"], "1")

    def test_layers_that_a_strategy_does_not_do_are_named(self):
        name = self.write("layers.csv", self.LAYERS)
        result = self.answered(1, "predict", "--shapes", name, "--strategy", "winograd")
        self.assertIn("for 5 calls of 2 of 4 shapes", result.out)
        self.assertIn("without a time: conv1, conv9\n", result.out)
        result = self.answered(1, "predict", "--study", "resnet50_b1", "--strategy", "winograd", "--format", "csv")
        self.assertLess(len(result.err.splitlines()), 4, result.err)
        self.assertRegex(result.err, r"and \d+ more: winograd is unsupported")

    def test_baselines_have_their_bound(self):
        text = self.ok("predict", "--shape", MULTI, "--strategy", "cudnn").out
        self.assertIn("bound (us)", text)
        self.assertEqual(len(re.findall(r"(?m)^ +3\.91 .*cudnn:", text)), 13, text)

    def test_one_number_is_both(self):
        text = self.ok("predict", "--shape", MULTI + "_str2_pad1", "--strategy", "naive_global").out
        self.assertTrue(text.startswith(MULTI + "_str2x2_pad1x1 (output 28 x 28) on NVIDIA H200"), text)

    def test_a_given_recording_stands_beside(self):
        run = self.ok("predict", "--shape", SINGLE, "--strategy", "naive_global", "--json").json()
        run["conditions"]["gpu"] = "NVIDIA H200"
        run["cases"][0]["measurements"] = [{"time_s": 4.2e-5, "samples_s": [4.2e-5], "l2": "cold", "method": "events", "stop_reason": "count"}]
        name = self.write("mine.json", run)
        self.assertRegex(self.ok("predict", "--shape", SINGLE, "--strategy", "naive_global", "--recorded", name).out, r"42\.0 us,(.|\n)*mine\.json")
        self.refused(2, ["predict", "--gpu", "toy", "--shape", SINGLE, "--recorded", name], "measured on NVIDIA H200", "Toy GPU")
        del run["conditions"]["gpu"]
        self.refused(2, ["choose", "--shape", SINGLE, "--recorded", self.write("other.json", run)], "convcast run")

    def test_lines_fit_the_window(self):
        for words in (self.ONE, (*self.ONE, "--rules"), ("predict", "--shape", MULTI), ("choose", "--shape", MULTI),
                      ("choose", "--shape", MULTI, "--why"), ("choose", "--study", "resnet18_b1"), ("choose", "--shape", MULTI, "--sms", "32,132")):
            for columns in (80, 200):
                for line in self.ok(*words, env={"COLUMNS": str(columns)}).out.splitlines():
                    self.assertLessEqual(len(line), columns, (words, line))

    def test_wrong_what_ifs(self):
        shape = ["--shape", MULTI]
        self.all_refused(2, [
            (["predict", "--sweep", "h=28:56:28", "--study", "chang_multi"], "--shape, and none is given"),
            (["predict", *shape, "--sweep", "h"], "'h': expected a size's name", "--sweep h=w=28:224:28"),
            (["predict", *shape, "--sweep", "x=1,2"], "has no size 'x'", "n, c, h, w"),
            (["predict", *shape, "--sweep", "h=h=1,2"], "'h' stands twice"),
            (["predict", *shape, "--sweep", "h=56:28:2"], "expected an integer from 56 to"),
            (["predict", *shape, "--sweep", "h=1:10:*1"], "expected an integer from 2 to"),
            (["predict", *shape, "--sweep", "h=1:2"], "from:to:step"),
            (["predict", *shape, "--sweep", "h=1:9999999:1"], "more than 10000 values"),
            (["predict", *shape, "--sweep", "h=w=2,3"], "h=w=2: shape", "larger than the padded input"),
            (["choose", *shape, "--sms", "32,999"], "from 1 to 132", "'999'"),
            (["choose", *shape, "--sms", "32,,64"], "--sms", "''"),
            (["choose", *shape, "--set", "bandwidth=x2"], "did you mean 'dram_read_bandwidth', 'dram_write_bandwidth', 'dram_copy_bandwidth' "
                                                          r"or another of the \d+ that have it in their names\?"),
            (["choose", *shape, "--set", "dram_read_bandwith=x2"], "no number 'dram_read_bandwith'", "did you mean 'dram_read_bandwidth'"),
            (["choose", *shape, "--set", "dram_read_bandwidth=fast"], "expected x and a factor", "'fast'"),
            (["choose", *shape, "--set", "dram_read_bandwidth=x1e30"], "expected x and a factor", "'x1e30', of"),
            (["choose", *shape, "--set", "dram_read_bandwidth"], "expected x and a factor", "''"),
            (["choose", *shape, "--set", "sm_count=x0"], "sm_count"),
            (["choose", "--gpu", "gtx1080ti", *shape, "--set", "atomic_latency=x2"], "lacks it; --assume"),
            (["run", *shape, "--sms", "32,64"], "one number of SMs"),
        ])


# ---- timelines ----

class Lists(Cli):
    """--shapes: the convolutions that other programs and people have at hand."""
    LINES = "# ours\n" + MULTI + "_pad1x1 conv2 3\n" + SINGLE + " first\n"
    CSV = "name;in_channels;h;out_channels;kernel;padding;count\r\nconv2;64;56;64;3;1;3\r\nfirst;1;28;64;3x3;;1\r\n"
    BENCHDNN = '--conv --dir=FWD_D\nmb1ic64ih56oc64oh56kh3ph1n"conv2*3"\nmb1ic1ih28iw28oc64oh26ow26kh3kw3ph0nfirst\n'

    def test_every_format_asks_the_same(self):
        answers = []
        for name, text in (("lines.txt", self.LINES), ("table.csv", "\ufeff" + self.CSV), ("benchdnn.txt", self.BENCHDNN)):
            self.write(name, text)
            answers.append(self.ok("choose", "--shapes", name).out)
            self.assertEqual(self.ok("choose", "--shapes", "-", stdin=text.encode()).out, answers[-1])
        self.assertEqual(len(set(answers)), 1)
        self.assertRegex(answers[0], r"(?m)^conv2 .* 3 .*\n.*first ")
        self.assertRegex(answers[0], r"total: [\d.]+ us for 4 calls of 2 shapes")
        self.write("lines.txt.gz", gzip.compress(self.LINES.encode()))
        self.assertEqual(self.ok("choose", "--shapes", "lines.txt.gz").out, answers[0])

    def test_the_total_counts_every_call(self):
        run = self.ok("choose", "--shapes", self.write("l.txt", self.LINES), "--top", "1", "--json").json()
        self.assertEqual([(c["name"], c.get("count")) for c in run["cases"]], [("conv2", 3), ("first", None)])
        times = [c["prediction"]["time_s"] for c in run["cases"]]
        total = re.search(r"total: ([\d.]+) us", self.ok("choose", "--shapes", "l.txt").out).group(1)
        self.assertAlmostEqual(float(total), (3 * times[0] + times[1]) * 1e6, delta=0.06)
        again = self.ok("predict", "-", stdin=json.dumps(run).encode()).json()
        self.assertEqual([(c["name"], c.get("count")) for c in again["cases"]], [("conv2", 3), ("first", None)])

    def test_what_is_asked_twice_is_asked_once(self):
        self.write("l.txt", self.LINES + MULTI + "_pad1x1 conv4 2\n")
        out = self.ok("choose", "--shape", SINGLE, "--shapes", "l.txt", "--json", "--top", "1").json()
        self.assertEqual([(c["shape"], c.get("name"), c["count"]) for c in out["cases"]],
                         [(SINGLE, None, 2), (MULTI + "_pad1x1", "conv2 and 1 more", 5)])

    def test_batch(self):
        out = self.ok("choose", "--shapes", self.write("l.txt", self.LINES), "--batch", "8", "--json", "--top", "1").json()
        self.assertEqual([c["shape"][:2] for c in out["cases"]], ["n8", "n8"])
        self.refused(2, ["choose", "--shape", MULTI, "--batch", "8"], "--batch is of a network or a list")

    def test_problems_come_all_at_once(self):
        self.write("bad.csv", "c,h,k,r\n1,2,3,x\n1,2,3\n1,2,3,4\n")
        self.refused(3, ["predict", "--shapes", "bad.csv"], r"bad.csv:2 \(CSV\): column 'r': expected", "bad.csv:3", "bad.csv:4",
                     problems=3)
        self.write("bad.txt", "ic8iw8oc8kw3\n--dir=BWD_D ic8ih8oc8kh3\n")
        self.refused(3, ["compile", "--shapes", "bad.txt"], r"bad.txt:1 \(benchdnn\): expected a 2D", "bad.txt:2.*forward", problems=2)
        self.refused(3, ["choose", "--shapes", "nowhere.csv"], "nowhere.csv")
        self.refused(3, ["choose", "--shapes", "-"], "standard input", "found nothing")
        self.refused(3, ["choose", "--shapes", "-"], "a byte of value 0", stdin=b"c,h\0\n")
        self.refused(2, ["predict", "run.json", "--shapes", "bad.txt"], "both given")

    def test_a_list_is_not_written_over(self):
        self.write("l.txt", self.LINES)
        self.refused(2, ["predict", "--shapes", "l.txt", "-o", "l.txt"], "would take the place of --shapes l.txt")

    def test_a_million_lines(self):
        self.write("many.txt", (MULTI + " a\n") * 1_000_000)
        self.assertIn('"count": 1000000', self.ok("choose", "--shapes", "many.txt", "--top", "1", "--json").out)
        self.write("bad.txt", MULTI + "\n" + "n1\n" * 1_000_000)
        self.assertIn("more problems", self.cli("predict", "--shapes", "bad.txt").err)
        self.write("large.txt", "".join(f"n{i}c1h9w9k1r3s3\n" for i in range(1, 100_002)))
        self.refused(3, ["predict", "--shapes", "large.txt"], "large.txt:100001.*at most 100000 different shapes")

    def test_onnx(self):
        got = self.cli("choose", "--shapes", self.write("net.onnx", onnx_file.small_network()), "--top", "1", "--json", "--batch", "2")
        if "convcast-onnx" in got.err:  # a build without the library
            self.assertEqual(got.code, 3)
            return self.assert_sentence(got.err, "libonnx-dev")
        self.assertEqual([(c["shape"], c["name"], c.get("count")) for c in got.json()["cases"]], [
            ("n2c3h224w224k64r7s7_str2x2_pad3x3", "conv1", None), ("n2c64h56w56k64r3s3_pad1x1_g2", "conv2 and 1 more", 2),
            ("n2c64h56w56k16r3s3_str2x2_pad1x1", "same", None)])
        for needle in ("up: operator ConvTranspose", "inner: it is in the body of branch", "uneven: its padding is 0 and 5",
                       "line: it is 1D", r"1 of 7 convolutions left out, .* for example unknown, whose input is 1 x 64 x \? x \?; --input-size HxW", "left out: 1 If, 1 MaxPool, 1 Relu",
                       ):
            self.assertRegex(got.err, needle)
        self.assertNotIn("number of images", got.err, "--batch says it")
        self.assertIn("number of images open: 1 is taken, and --batch N sets it", self.cli("choose", "--shapes", "net.onnx").err)
        channels = onnx_file.model(onnx_file.graph(onnx_file.node("Conv", ["x", "w"], "y"), onnx_file.weights("w", [8, 16, 1, 1]),
                                                   inputs=[("x", [1, "channels", 28, 28])]))
        known = self.cli("choose", "--shapes", "-", "--top", "1", "--json", stdin=channels)
        self.assertEqual(known.json()["cases"][0]["shape"], "n1c16h28w28k8r1s1", "as many channels as the filters have")
        self.assertNotRegex(known.err, "left out|--input-size|number of images")
        self.refused(2, ["predict", "--shapes", "net.onnx", "--input-size", "640"], "height x width.*--input-size 640x640")
        self.refused(2, ["predict", "--shape", MULTI, "--input-size", "640x640"], "--input-size is of an ONNX file")
        open_sizes = onnx_file.model(onnx_file.graph(onnx_file.node("Conv", ["x", "w"], "y", pads=[1, 1, 1, 1]),
                                                     onnx_file.weights("w", [8, 3, 3, 3]), inputs=[("x", ["n", 3, "h", "w"])]))
        sized = self.cli("choose", "--shapes", "-", "--input-size", "40x60", "--top", "1", "--json", stdin=open_sizes).json()
        self.assertEqual(sized["cases"][0]["shape"], "n1c3h40w60k8r3s3_pad1x1")
        self.assertIn("--input-size HxW", self.cli("choose", "--shapes", "-", stdin=open_sizes).err)
        whole = onnx_file.small_network()
        self.refused(3, ["predict", "--shapes", "-"], r"\(ONNX\).*no model", stdin=whole[:len(whole) // 2])
        self.refused(3, ["predict", "--shapes", "-"], r"\(ONNX\)", stdin=b"\x08\x07" + b"\xff" * 1000)
        none = onnx_file.model(onnx_file.graph(onnx_file.node("Relu", ["x"], "y"), inputs=[("x", [1, 3, 8, 8])]))
        self.assertRegex(self.cli("predict", "--shapes", "-", stdin=none).err, "expected a 2D convolution that can be forecast")

    def test_a_network_of_an_onnx_file(self):
        """Exports of torchvision: forecast as they come, and by the network file that they become; schedules name their nodes."""
        if not pathlib.Path(BINARY).with_name("convcast-onnx").exists():
            self.skipTest("convcast-onnx was not built")
        mobilenet = SOURCE / "examples" / "onnx" / "mobilenet_v2.onnx.gz"
        forecast = self.ok("predict", "--network", mobilenet, "--batch", "2", "--json").json()["cases"][0]
        launches = {"+".join(launch["operators"]): launch for launch in forecast["launches"]}
        first = "/features/features.0/features.0.0/Conv"
        self.assertIn(f"{first}+{first}.bias+/features/features.0/features.0.2/Clip", launches)
        self.assertEqual(len(launches), 54)  # 52 convolutions that end with what follows them, a pooling, a dense layer
        self.assertTrue(any("_g960" in launch.get("shape", "") for launch in launches.values()))
        self.assertEqual(self.ok("import", mobilenet, "-o", "mine.json").out, "")
        network = json.loads((self.folder / "mine.json").read_text())
        self.assertEqual((network["id"], network["input"]), ("mobilenet_v2", [3, 224, 224]))
        self.assertNotIn(os.fspath(SOURCE), json.dumps(network))
        again = self.ok("predict", "--network", "mine.json", "--batch", "2", "--json").json()["cases"][0]
        self.assertEqual(again["launches"], forecast["launches"])
        self.write("mine.schedule", self.ok("choose", "--network", "mine.json", "--format", "schedule").out)
        self.assertIn("the forecast's own", self.ok("predict", "--network", "mine.json", "--schedule", "mine.schedule").out)
        # Sizes of two resizes that the exporter computes of the input's.
        deeplab = self.ok("import", SOURCE / "examples" / "onnx" / "deeplabv3_resnet50.onnx.gz").json()
        self.assertEqual([op["output"] for op in deeplab["operators"] if op["kind"] == "resize"], [[256, 28, 28], [21, 224, 224]])
        self.assertIn([4, 4], [op.get("dilation") for op in deeplab["operators"]])
        self.assertNotIn("unknown", {op["kind"] for op in deeplab["operators"]})

    def test_onnx_files_that_are_no_network(self):
        if not pathlib.Path(BINARY).with_name("convcast-onnx").exists():
            self.skipTest("convcast-onnx was not built")
        self.write("small.onnx", onnx_file.small_network())
        whole = onnx_file.model(onnx_file.graph(onnx_file.node("Conv", ["x", "w"], "a", "first"), onnx_file.node("Odd", ["a"], "b", "odd"),
                                                onnx_file.node("Relu", ["b"], "y", "last"), onnx_file.weights("w", [8, 3, 3, 3]),
                                                inputs=[("x", ["n", 3, "h", "w"])]))
        self.write("open.onnx", whole)
        for verb in ("predict", "choose", "run"):
            self.refused(3, [verb, "--network", "small.onnx"], "small.onnx .ONNX.*one input.*found 4")
        self.refused(3, ["predict", "--network", "open.onnx"], r"open.onnx .ONNX.*n? x 3 x \? x \?.*--input-size HxW")
        self.refused(3, ["predict", "--network", "open.onnx", "--input-size", "32x32"], "odd: Odd.*not known.*infer_shapes")
        self.refused(3, ["import", "-"], "no model", stdin=whole[:-20])
        self.refused(2, ["import"], "no ONNX model given, for example: convcast import")

    def test_what_is_wrong_with_an_onnx_file_is_said_at_once(self):
        """Each problem by its node, with what was expected and what to do; no file is written, and none outside the folder opened."""
        if not pathlib.Path(BINARY).with_name("convcast-onnx").exists():
            self.skipTest("convcast-onnx was not built")
        node, graph, model, weights = onnx_file.node, onnx_file.graph, onnx_file.model, onnx_file.weights

        def write(name, *parts, opset=13, size=(1, 3, 8, 8), kind=1):
            self.write(name, model(graph(*parts, inputs=[("x", list(size), kind)]), opset))

        huge = 1 << 40
        write("bad.onnx", node("Add", ["x", "b"], "a", "add"), node("Relu", ["a"], "b", "relu"), node("Relu", ["no"], "c", "lone"),
              node("Conv", ["x", "w"], "d", "conv", strides=[-1, 1]), node("Conv", ["x", "w"], "e", "far", pads=[0, 0, huge, 0]),
              node("Conv", ["x", "wide"], "f", "wide"), node("Conv", ["x", "w"], "g", "groups", group=0),
              node("Conv", ["x", "other"], "h", "other"), node("Sum", ["b", "c", "d", "e", "f", "g", "h"], "y", "sum"),
              weights("w", [8, 3, 3, 3]), weights("wide", [huge, 3, 1, 1]), weights("other", [8, 4, 1, 1]), opset=99)
        for words in (["predict", "--network", "bad.onnx", "-o", "out.json"], ["import", "bad.onnx", "-o", "out.json"],
                      ["report", "--network", "bad.onnx", "-o", "out"]):
            said = self.answered(3, *words).err
            for problem in ("opset 99; expected 7 to 23.*opset_version=17", "waits for its own output: .*add.*relu.*without cycles",
                            "lone: Relu: it reads 'no', which nothing gives", "conv: Conv: a stride, dilation or pad is -1; expected",
                            "far: Conv: a stride, dilation or pad is 1099511627776; expected", "wide: Conv: its filters are 1099511627776",
                            "groups: Conv: its group is 0; expected 1", "other: Conv: .*expected filters of 8 x 3 x 1 x 1. Correct the shape of 'other'"):
                self.assertRegex(said, problem)
            self.assertNotIn("sum: Sum", said)
            self.assertFalse((self.folder / "out.json").exists() or (self.folder / "out").exists())
        for opset in (0, 1):
            write("old.onnx", node("Relu", ["x"], "y"), opset=opset)
            self.refused(3, ["predict", "--network", "old.onnx"], f"opset {opset}; expected 7 to 23")
        write("large.onnx", node("Relu", ["x"], "y"), size=(1, 3, huge, 224))
        said = self.answered(3, "predict", "--network", "large.onnx").err
        self.assertIn("at most 2^31 numbers an image", said)
        self.assertNotIn("--input-size", said)
        write("twice.onnx", node("Relu", ["x"], "y", "one"), node("Relu", ["x"], "y", "two"))
        self.refused(3, ["predict", "--network", "twice.onnx"], "two: its output 'y' is given by node one already")
        self.refused(3, ["predict", "--network", "absent.onnx"], "absent.onnx: cannot (be )?open")
        # Weights in files of their own: they are not needed, and not opened.
        write("apart.onnx", node("Conv", ["x", "w"], "y"), weights("w", [8, 3, 3, 3]))
        self.assertIn("'weights.bin'; it is not opened", self.answered(0, "predict", "--network", "apart.onnx").err)
        self.write("weights.bin", "")
        self.assertNotIn("weights.bin", self.answered(0, "predict", "--network", "apart.onnx").err)
        write("outside.onnx", node("Conv", ["x", "w"], "y"), weights("w", [8, 3, 3, 3]).replace(b"\x0bweights.bin", b"\x0b../../a.bin"))
        self.assertIn("lie outside its folder, in '../../a.bin'; it is not opened", self.answered(0, "predict", "--network", "outside.onnx").err)

    def test_nodes_of_onnx_that_are_not_known_are_marked_and_counted(self):
        if not pathlib.Path(BINARY).with_name("convcast-onnx").exists():
            self.skipTest("convcast-onnx was not built")
        node, weights = onnx_file.node, onnx_file.weights
        parts = [node("Conv", ["x", "w"], "a", "conv"), node("Elu", ["a"], "b", "elu"), node("MatMul", ["b", "b"], "c", "product"),
                 node("Relu", ["c"], "y", "relu"), weights("w", [8, 3, 3, 3], 10)]
        self.write("mine.onnx", onnx_file.model(onnx_file.graph(*parts, inputs=[("x", [1, 3, 10, 10], 10)])))
        answer = self.answered(0, "predict", "--network", "mine.onnx")
        self.assertIn("not known: MatMul", answer.out)
        self.assertRegex(" ".join(answer.out.split()), r"2 nodes are not known \(Elu, MatMul\) and forecast by the bytes they move alone: [\d.]+ % of the time")
        self.assertRegex(answer.err, r"elu \(Elu: no operator of convcast\), product \(MatMul: a product of two tensors")
        self.assertIn("its numbers are float16; convcast forecasts and runs networks in FP32", answer.err)
        rows = list(csv.DictReader(io.StringIO(self.answered(0, "predict", "--network", "mine.onnx", "--format", "csv").out)))
        self.assertEqual([row["kind"] for row in rows], ["convolution", "not known: Elu", "not known: MatMul", "number by number"])
        self.assertRegex(self.answered(2, "run", "--network", "mine.onnx").err, r"no kernel computes 2 nodes of mine: elu \(Elu\), product \(MatMul\)")
        self.answered(0, "report", "--network", "mine.onnx", "-o", "page")
        page = (self.folder / "page" / "page.html").read_text()
        self.assertIn("not known: MatMul", page)
        self.assertIn("2 nodes are not known (Elu, MatMul)", page)
        self.refused(2, ["report", "--network", "mine.onnx", "run.json"], "--network and .* were both given")
        self.refused(2, ["report", "run.json", "--batch", "2"], "--batch is of --network")

    def test_a_network_that_does_not_fit_says_so(self):
        self.assertRegex(" ".join(self.ok("predict", "--network", "vgg16", "--gpu", "gt750m", "--batch", "32").out.split()),
                         r"it does not fit: vgg16 with batch 32 holds [\d.]+ GiB, NVIDIA GeForce GT 750M .*has 2(.00)? GiB; most takes \S*conv\S*, .* About --batch \d+ fits")
        self.assertNotIn("does not fit", self.ok("predict", "--network", "vgg16", "--batch", "32").out)
        self.refused(2, ["predict", "--network", "vgg16", "--batch", "1000"],
                     r"--batch must be an integer from 1 to 668, got 1000: the output of \S+, 64 x 224 x 224 an image, may have 2.31 numbers at most")

    def test_without_the_reader_of_onnx_files_it_says_what_to_type(self):
        shutil.copy(BINARY, self.folder / "convcast")
        self.write("net.onnx", onnx_file.small_network())
        for words in (["predict", "--shapes", "net.onnx"], ["predict", "--network", "net.onnx"], ["doctor"]):
            done = subprocess.run(["./convcast", *words], cwd=self.folder, env=self.environment(COLUMNS="400"), capture_output=True, text=True)
            self.assertRegex(done.stdout + done.stderr,
                             r"apt-get install libonnx-dev libprotobuf-dev, then \./quickstart in convcast's sources")

    def test_quickstart_goes_on_without_the_library_of_onnx(self):
        """The part of quickstart that installs it, where the archive has it, has it not, or it cannot be installed."""
        script = (SOURCE / "quickstart").read_text()
        part = script[script.index("# ONNX files are read where"):script.index("# ---- build: all rooms")]
        failed = re.search(r"(?ms)^onnx_failed\(\) \{.*?^\}$", script)[0]
        head = ("set -euo pipefail; say() { echo \"$*\"; }; following() { shift 2; \"$@\" > installed; }; read_lists() { :; }; sudo=()\n"
                "offered() { [[ $ARCHIVE == *$1* ]]; }; env() { shift; \"$@\"; }; apt-get() { echo \"$@\"; return $APT; }\n")
        part = part.replace("/usr/include/onnx/onnx_pb.h", "/nonexistent").replace("EUID == 0", "ROOT == 1")
        missing, install = "going on without ONNX files, which nothing else needs", "apt-get install libonnx-dev libprotobuf-dev, then ./quickstart"
        for archive, apt, root, said in (("libonnx-dev libprotobuf-dev", 0, 1, "installing from the distribution, to read ONNX files"),
                                         ("libprotobuf-dev", 0, 1, f"{missing}: this system's archive has no libonnx-dev"),
                                         ("libonnx-dev libprotobuf-dev", 100, 1, f"{missing}; to read them: {install}"),
                                         ("libonnx-dev libprotobuf-dev", 0, 0, f"{missing}; to read them: {install}")):
            env = self.environment(ARCHIVE=archive, APT=str(apt), ROOT=str(root))
            done = subprocess.run(["bash", "-c", head + "sudo() { return 1; }\n" + part + "echo end"], cwd=self.folder, env=env,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "end"), done)
            self.assertIn(said, done.stdout)
        for log, code in (("FAILED: [code=1] cli/convcast-onnx", 0), ("FAILED: cli/CMakeFiles/convcast_onnx.dir/onnx/read_onnx.cpp.o", 0),
                          ("FAILED: cli/convcast-onnx\nFAILED: cli/CMakeFiles/convcast.dir/main.cpp.o", 1), ("ok", 1)):
            self.write("log", log + "\n")
            done = subprocess.run(["bash", "-c", failed + "\nonnx_failed log"], cwd=self.folder)
            self.assertEqual(done.returncode, code, log)

    def test_a_study_is_shapes(self):
        run = self.ok("predict", "--study", self.write("mine.json", {"shapes": [MULTI]}), "--strategy", "winograd", "--json").json()
        self.assertEqual(run["cases"][0]["study"], "mine")


class Formats(Cli):
    """--format: answers for other programs and for texts."""

    def rows(self, *words, **options):
        return list(csv.DictReader(io.StringIO(self.ok(*words, "--format", "csv", **options).out)))

    def test_csv_has_the_numbers_of_the_json(self):
        words = ("predict", "--shape", MULTI, "--shape", SINGLE + "_pad1x1", "--strategy", "implicit_gemm")
        cases = self.ok(*words, "--json").json()["cases"]
        for row, case in zip(self.rows(*words), cases, strict=True):
            self.assertEqual(float(row["time_s"]), case["prediction"]["time_s"])
            self.assertEqual(float(row["speed_of_light_s"]), case["prediction"]["times"]["tier0_s"])
            self.assertEqual(row["strategy"] + ":" + row["knobs"], case["strategy"])
            self.assertEqual((row["gpu"], row["status"], row["shape"]), ("h200", "ok", case["shape"]))

    def test_a_table_without_a_header_is_said_once(self):
        for text in ("64,56,56,64,3,3\n64,28,28,64,3,3\n", "conv1;64;56;56;64;3;3\n"):
            self.refused(3, ["predict", "--shapes", self.write("bare.csv", text)], "expected a header above '.*name,c,h,w,k,r,s")

    def test_names_are_quoted(self):
        rows = self.rows("choose", "--shapes", "-", stdin=('shape,name,count\n' + MULTI + ',"a ""b"", c | d",7\n').encode())
        self.assertEqual((rows[0]["name"], rows[0]["count"]), ('a "b", c | d', "7"))
        markdown = self.ok("choose", "--shapes", "-", "--format", "markdown", stdin=(MULTI + " a|b\n").encode()).out
        self.assertIn(r"| a\|b |", markdown)

    def test_the_same_at_any_width_and_without_colours(self):
        for words in (("choose", "--shape", MULTI, "--top", "3"), ("compare", "h200", "h200"), ("predict", "--network", "mnist")):
            for form in ("csv", "markdown"):
                text = self.ok(*words, "--format", form).out
                for env in ({"COLUMNS": "40"}, {"NO_COLOR": None, "CLICOLOR_FORCE": "1"}):
                    self.assertEqual(self.ok(*words, "--format", form, env=env).out, text, (words, form, env))

    def test_markdown_is_a_table_with_the_total(self):
        out = self.ok("choose", "--study", "resnet18_b1", "--format", "markdown").out
        lines = out.splitlines()
        self.assertEqual({line.count("|") for line in lines if line.startswith("|")}, {lines[0].count("|")})
        self.assertIn("time (us)", lines[0])
        self.assertRegex(lines[-1], "^total: .* for 20 calls of 11 shapes")

    def test_ranks_and_several_gpus(self):
        rows = self.rows("choose", "--shape", MULTI, "--gpu", "h200", "--gpu", "k40m", "--top", "2")
        self.assertEqual([(r["gpu"], r["rank"]) for r in rows], [("h200", "1"), ("h200", "2"), ("k40m", "1"), ("k40m", "2")])
        self.assertEqual(float(rows[0]["over_best"]), 1.0)

    def test_a_documents_cases(self):
        self.write("run.json", self.ok("predict", "--shape", MULTI, "--json").out)
        self.assertEqual(len(self.rows("predict", "run.json")), len(json.loads((self.folder / "run.json").read_text())["cases"]))

    def test_formats_that_there_are_not(self):
        self.refused(2, ["predict", "--shape", MULTI, "--format", "cvs"], "one of text, json, csv, markdown.*did you mean 'csv'")
        self.refused(2, ["choose", "--shape", MULTI, "--format", "csv", "--json"], "take one of them")
        self.refused(2, ["report", "h200", "--format", "csv"], "are of a run")

    def test_output_to_a_file(self):
        self.assertEqual(self.ok("choose", "--shape", MULTI, "--format", "csv", "-o", "t.csv").out, "")
        self.assertIn("time_s", (self.folder / "t.csv").read_text())


class CompareRuns(Cli):
    def setUp(self):
        super().setUp()
        run = recording("chang.json.gz")
        run["cases"] = [c for c in run["cases"] if c["status"] == "ok" and c.get("measurements")][:12]
        self.write("before.json", run)
        run["conditions"]["driver_cuda"] = "99.0"
        run["cases"] = run["cases"][:-1]
        for factor, case in zip((1.25, 0.75), run["cases"]):
            for m in case["measurements"]:
                m["time_s"] *= factor
                m["samples_s"] = [factor * s for s in m["samples_s"]]
        self.write("after.json", run)

    def test_what_changed_is_said(self):
        out = self.ok("compare", "before.json", "after.json").out
        self.assertRegex(out.splitlines()[3] + out.splitlines()[4], "not made under the same conditions.*driver_cuda: A 13.0, B 99.0")
        self.assertRegex(out, r"(?m)^slower +\+25.0 %")
        self.assertRegex(out, r"(?m)^faster +-25.0 %")
        self.assertRegex(out, r"compared 11 of 12 cases: 1 slower, 1 faster")
        self.assertIn("only in before.json: 1 case", out)
        self.assertEqual(out.count("only in "), 1)
        lost = json.loads((self.folder / "before.json").read_text())["cases"][-1]
        name = lost.get("strategy", lost.get("baseline"))
        self.assertNotRegex(out, f"{re.escape(lost['shape'])} .*{re.escape(name)}")
        self.assertRegex(self.ok("compare", "before.json", "after.json", "--all", env={"COLUMNS": "400"}).out,
                         f"(?m)^lacking .*{re.escape(lost['shape'])} .*{re.escape(name)}")
        same = self.ok("compare", "before.json", "before.json").out
        self.assertIn("same GPU, versions and conditions", same)
        self.assertNotRegex(same, "slower|faster")

    def test_documents_of_lines_are_compared(self):
        for name in ("before", "after"):
            self.ok("merge", "--bare", name + ".json", "-o", name + ".jsonl")
        self.ok("merge", "--bare", "after.json", "-o", "after.jsonl.gz")
        expected = self.ok("compare", "before.json", "after.json", "--json").json()
        for pair in (("before.jsonl", "after.jsonl"), ("before.json", "after.jsonl"), ("before.jsonl", "after.jsonl.gz")):
            got = self.ok("compare", *pair, "--json").json()
            self.assertEqual(tuple(file["file"] for file in got["files"]), pair)
            self.assertEqual(got["rows"], expected["rows"])
        piped = self.ok("compare", "before.jsonl", "-", "--json", stdin=(self.folder / "after.jsonl").read_bytes()).json()
        self.assertEqual(piped["rows"], expected["rows"])
        self.refused(2, ["compare", "before.jsonl", "h200"], "1 Run document among 2 files")

    def test_an_exit_code_for_ci(self):
        self.assertEqual(self.cli("compare", "before.json", "after.json", "--fail-over", "5%").code, 1)
        self.assertEqual(self.cli("compare", "before.json", "after.json", "--fail-over", "30").code, 0)
        self.assertEqual(self.cli("compare", "before.json", "before.json", "--fail-over", "0.1%").code, 0)
        run = json.loads((self.folder / "after.json").read_text())
        run["cases"][5].update(status="wrong_result", reason="off by one")
        result = self.answered(1, "compare", "before.json", self.write("wrong.json", run), "--fail-over", "90%")
        self.assertRegex(result.out, r"broken: wrong_result:\s+off\s+by\s+one:\s+n\d")

    def test_a_document_is_the_same_as_itself(self):
        run = json.loads((self.folder / "before.json").read_text())
        run["cases"].append({"shape": MULTI, "strategy": "filter_split", "status": "unsupported", "reason": "c is not 1"})
        run["cases"][0]["measurements"][0]["samples_s"] = run["cases"][0]["measurements"][0]["samples_s"][:3]
        name = self.write("itself.json", run)
        out = self.ok("compare", name, name).out
        self.assertNotRegex(out, "unsure|lacking")
        self.assertRegex(out, r"compared 12 of 13 cases: 12 same, 1 refused")
        self.refused(2, ["compare", name, name, "--fail-over", "0.05"], "0.05 percent, or was 5% meant", "--fail-over 5%")
        self.ok("compare", name, name, "--fail-over", "0.05%")

    def test_what_was_not_compared_has_not_passed(self):
        run = json.loads((self.folder / "before.json").read_text())
        self.write("none.json", {**run, "cases": []})
        untimed = json.loads((self.folder / "before.json").read_text())
        for case in untimed["cases"]:
            case.pop("measurements")
        self.write("untimed.json", untimed)
        for other in ("none.json", "untimed.json"):
            result = self.answered(1, "compare", "before.json", other, "--fail-over", "5%")
            self.assertIn("failed: no case has a time in both", result.out)
        self.ok("compare", "before.json", "untimed.json")
        for more in ([], ["--json"], ["--format", "csv"], ["--fail-over", "5%"], ["--by", "shape"]):
            result = self.answered(1, "compare", "before.json", "none.json", *more)
            self.assert_sentence(result.err, "before.json and none.json have no case in common, so nothing was compared")

    def test_other_knobs_are_compared_by_strategy_and_by_shape(self):
        self.write("a.json", self.ok("choose", "--shape", MULTI, "--strategy", "implicit_gemm", "--top", "2", "--json").out)
        best, second = json.loads((self.folder / "a.json").read_text())["cases"]
        run = json.loads((self.folder / "a.json").read_text())
        self.write("a.json", {**run, "cases": [best]})
        alone = self.answered(1, "compare", "a.json", self.write("b.json", {**run, "cases": [second]}), "--fail-over", "5%")
        self.assertIn("compared 0 of 2 cases", alone.out)
        self.assertIn("--by strategy compares", " ".join(alone.out.split()))
        for by in ("strategy", "shape"):
            document = self.cli("compare", "a.json", "b.json", "--by", by, "--json").json()
            self.assertEqual(document["by"], by)
            (row,) = document["rows"]
            self.assertEqual([value["by"] for value in row["values"]], [best["strategy"], second["strategy"]])
            self.assertAlmostEqual(row["ratio"], second["prediction"]["time_s"] / best["prediction"]["time_s"])
        self.refused(2, ["compare", "a.json", "b.json", "--by", "name"], "--by must be one of setting, strategy, shape, got 'name'")

    def test_narrow_tables_keep_the_shape(self):
        for columns in (60, 80, 100):
            out = self.ok("compare", "before.json", "after.json", env={"COLUMNS": str(columns)}).out
            self.assertLessEqual(max(map(len, out.splitlines())), columns, out)
            self.assertRegex(out, r"(?m)^slower +\+25.0 % +n\d+c\d+")

    def test_other_documents_are_named(self):
        calibration = str(SOURCE / "data" / "calibration" / "h200.json")
        self.refused(2, ["compare", calibration, calibration], "convcast/calibration/", "expected two Run documents")

    @unittest.skipUnless((RECORDED / "equal").is_dir(), "nothing recorded")
    def test_few_partners_are_no_pass(self):
        result = self.answered(1, "compare", RECORDED / "equal" / "run_1.json.gz", RECORDED / "chang.json.gz", "--fail-over", "5%")
        self.assertRegex(result.out, r"(?m)^failed: only \d+ of the \d+ timed cases of the smaller document found a partner")

    @unittest.skipUnless((RECORDED / "equal").is_dir(), "nothing recorded")
    def test_equal_runs_pass(self):
        """Three runs of the same binary on one GPU, one after the other."""
        runs = [str(RECORDED / "equal" / f"run_{i}.json.gz") for i in (1, 2, 3)]
        for before, after in itertools.permutations(runs, 2):
            self.ok("compare", before, after, "--fail-over", "5%")
        self.assertEqual(self.cli("compare", runs[0], runs[1], "--fail-over", "0.5%").code, 1)

    def test_formats(self):
        document = self.ok("compare", "before.json", "after.json", "--json").json()
        self.assertEqual((document["schema"], document["of"]), ("convcast/comparison/2", "runs"))
        self.assertEqual([row["verdict"] for row in document["rows"][:2]], ["slower", "faster"])
        rows = list(csv.DictReader(io.StringIO(self.ok("compare", "before.json", "after.json", "--format", "csv").out)))
        self.assertEqual(len(rows), 12)
        self.assertEqual([row["verdict"] for row in rows].count("lacking"), 1)
        self.assertAlmostEqual(float(rows[0]["ratio"]), 1.25)
        self.assertAlmostEqual(float(rows[0]["B"]) / float(rows[0]["A"]), 1.25)
        self.assertIn("| slower |", self.ok("compare", "before.json", "after.json", "--format", "markdown").out)
        pipe = self.ok("compare", "-", "after.json", "--json", stdin=(self.folder / "before.json").read_bytes()).json()
        self.assertEqual(pipe["rows"], document["rows"])

    def test_what_is_refused(self):
        self.refused(2, ["compare", "before.json", "h200"], "expected two Run documents, two networks, or two or more profiles")
        self.refused(2, ["compare", "before.json", "after.json", "before.json"], "expected two Run documents")
        self.refused(2, ["compare", "before.json", "after.json", "--only", "sm_clock"], "--only")
        self.refused(2, ["compare", "before.json", "after.json", "--fail-over", "much"], "number of percent.*--fail-over 5%")
        self.refused(2, ["compare", "before.json", "after.json", "--l2", "hot"], "--l2 must be one of cold, warm, got 'hot'")
        self.refused(2, ["compare", "h200", "toy", "--fail-over", "5%"], "of two Run documents")


class Bundle(Cli):
    def setUp(self):
        super().setUp()
        run = recording("chang.json.gz")
        run["cases"] = run["cases"][:6]
        self.write("run.json", run)

    def test_everything_is_in_it_and_makes_the_report_again(self):
        self.assertRegex(self.ok("report", "run.json", "--bundle", "mine.tar.gz").out, r"mine.tar.gz: \d+ files")
        with tarfile.open(self.folder / "mine.tar.gz") as archive:
            names = archive.getnames()
            for member in archive.getmembers():
                path = self.folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.extractfile(member).read())
        for name in ("page.html", "run.json", "profile.json", "facts.json", "calibration.json", "versions.json", "commands.txt",
                     "studies/chang_single.json", "figures/predicted_vs_measured.csv"):
            self.assertIn("mine/" + name, names)
        inside = self.folder / "mine"
        self.assertIn("convcast report run.json --bundle mine.tar.gz", (inside / "commands.txt").read_text())
        again = self.ok("predict", inside / "run.json", "--gpu", inside / "profile.json", "--facts", inside / "facts.json",
                        "--calibration", inside / "calibration.json").json()
        times = [c["prediction"].get("time_s") for c in again["cases"] if "prediction" in c]
        kept = json.loads((inside / "run.json").read_text())
        self.assertEqual(times, [c["prediction"].get("time_s") for c in kept["cases"] if "prediction" in c])

    def test_equal_input_gives_equal_bytes(self):
        def made(**env):
            self.ok("report", "run.json", "--bundle", "r.tgz", env=env)
            return (self.folder / "r.tgz").read_bytes()
        self.assertEqual(made(), made())
        dated = made(SOURCE_DATE_EPOCH="1700000000")
        self.assertEqual({m.mtime for m in tarfile.open(fileobj=io.BytesIO(dated)).getmembers()}, {1700000000})
        self.assertEqual({m.mtime for m in tarfile.open(fileobj=io.BytesIO(made())).getmembers()}, {315532800})

    def test_what_is_refused(self):
        self.refused(2, ["report", "run.json", "--bundle", "r.zip"], r"ends in .tar.gz, .tgz or .tar")
        for name in ("..tar", "...tar.gz", "./...tgz", "....tar", "a\nb.tar"):
            self.refused(2, ["report", "run.json", "--bundle", name], r"a name that ends in .tar.gz, .tgz or .tar")
        for name in ("../../../evil", "/tmp/evil", "a\nb", "", "x" * 61, "Big"):
            self.write("study.json", {"schema": "convcast/study/1", "id": name or "..", "title": "t", "citation": "c", "shapes": [SINGLE]})
            self.refused(3, ["report", "run.json", "--study", "study.json", "--bundle", "r.tar"], r"study.json:\d+: /id: expected 1 to 60 small")
        self.refused(2, ["report", "run.json", "--bundle", "r.tgz", "-o", "page"], "leave out -o")
        self.refused(2, ["report", "run.json", "--bundle", "r.tgz"], "SOURCE_DATE_EPOCH must be", env={"SOURCE_DATE_EPOCH": "today"})
        self.refused(3, ["report", "run.json", "--bundle", "nowhere/r.tgz"], "nowhere")


    def test_a_member_never_leaves_its_folder(self):
        self.write("My-layers.v2.json", {"shapes": [SINGLE]})  # without an id it is called as its file
        self.ok("report", "run.json", "--study", "My-layers.v2.json", "--bundle", "r.tar")
        with tarfile.open(self.folder / "r.tar") as archive:
            self.assertIn("r/studies/my_layers.json", archive.getnames())
            for name in archive.getnames():
                self.assertRegex(name, r"^r/[A-Za-z0-9_./]+$")
                self.assertNotIn("..", name)

    def test_interrupted(self):
        """Neither the archive nor the folder that it is made in stays."""
        run = json.loads((self.folder / "run.json").read_text())
        run["cases"] = recording("chang.json.gz")["cases"]
        self.write("run.json", run)
        (self.folder / "tmp").mkdir()
        before = self.files()
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            result = self.interrupted(which, "report", "run.json", "--bundle", "r.tar", env={"TMPDIR": str(self.folder / "tmp")},
                                      begun=lambda _: list((self.folder / "tmp").rglob("*.svg")))
            self.assertEqual((result.code, result.err), (130, ""))
            self.assertEqual(self.files(), before, which)


class Timelines(Cli):
    ASK = ("predict", "--gpu", "toy", "--shape", MULTI, "--strategy", "stride_fixed_block", "--timeline")

    def test_a_table_for_people(self):
        text = self.ok(*self.ASK).out
        head = next(line for line in text.splitlines() if line.strip().startswith("timeline"))
        for column in ("CTAs", "SMs", "at once", "makespan", "mean CTA", "tail"):
            self.assertIn(column, head)
        self.assertRegex(text, r"(?m)^ *stride_fixed_block +forecast ")

    def test_columns_for_programs(self):
        prediction = self.ok(*self.ASK, "--json").json()["cases"][0]["prediction"]
        (launch,) = prediction["timeline"]["launches"]
        self.assertEqual(launch["kernel"], "stride_fixed_block")
        self.assertEqual(len(launch["sm"]), prediction["plan"]["launches"][0]["ctas"])
        self.assertEqual(len(launch["sm"]), len(launch["start_ns"]))
        self.assertEqual(len(launch["sm"]), len(launch["end_ns"]))
        self.assertEqual(min(launch["start_ns"]), 0)
        self.assertLessEqual(max(launch["end_ns"]) * 1e-9, prediction["time_s"] + 1e-9)

    def test_only_where_asked(self):
        self.assertNotIn("timeline", self.ok(*self.ASK[:-1], "--json").out)

    def test_a_document_keeps_its_timelines_when_forecast_again(self):
        name = self.write("run.json", self.ok(*self.ASK, "--json").out)
        again = self.ok("predict", name, "--gpu", "toy").out
        self.assertIn('"start_ns"', again)
        bare = self.write("bare.json", self.ok(*self.ASK[:-1], "--json").out)
        self.assertEqual(self.ok("predict", bare, "--gpu", "toy", "--timeline").json()["cases"], json.loads(again)["cases"])

    def test_for_few_cases_only(self):
        for verb in ("predict", "run"):
            self.refused(2, [verb, "--study", "resnet50_b1", "--timeline"], "--timeline is for at most 100 cases")

    def test_the_report_draws_it(self):
        name = self.write("run.json", self.ok(*self.ASK, "--json").out)
        self.ok("report", name, "--gpu", "toy", "-o", "page")
        page = (self.folder / "page" / "page.html").read_text()
        self.assertIn('<section id="timelines">', page)
        for suffix in (".csv", ".svg", ".tex"):
            self.assertTrue((self.folder / "page" / "figures" / ("timeline_0_forecast" + suffix)).exists(), suffix)

    def test_a_document_with_a_broken_one(self):
        document = self.ok(*self.ASK, "--json").json()
        launch = document["cases"][0]["prediction"]["timeline"]["launches"][0]
        launch["sm"][1] = -7
        self.refused(3, ["report", self.write("run.json", document)],
                     "/cases/0/prediction/timeline/launches/0/sm/1: expected an integer from 0")
        launch["sm"] = [0, 0]
        self.refused(3, ["report", self.write("run.json", document)], "expected as many start_ns and end_ns as sm")
        launch["sm"] = "all"
        self.refused(3, ["report", self.write("run.json", document)], "launches/0/sm: expected an array, got string")


# ---- compare ----

class Compare(Cli):
    """Of toy's sm_clock (1 GHz), dram_latency (100 clk) and launch_gap (1 us), each with an interval of ± 1 %."""
    NAMES = ("sm_clock", "dram_latency", "launch_gap")

    def profile(self, name, width=0.01, lacks=(), **factors):
        profile = {k: v for k, v in toy().items() if k in ("schema", "id", "name", "compute_capability", "limits", *self.NAMES)}
        for field in self.NAMES:
            value = profile[field]["value"] * factors.get(field, 1)
            profile[field].update(value=value)
            if width is not None:
                profile[field]["interval"] = {"low": value * (1 - width), "high": value * (1 + width)}
        for field in lacks:
            del profile[field]
        profile["missing"] = {field: "probe " + field + " failed: no luck" for field in lacks}
        profile["conditions"] = {"date": "2026-01-0" + str(len(self.files()) + 1), "driver": "CUDA 13.0"}
        return self.write(name + ".json", profile)

    def compared(self, code, *words):
        result = self.cli("compare", *words, "--json")
        self.assertEqual((result.code, result.err), (code, ""), words)
        document = result.json()
        self.assertEqual(document["passed"], code == 0)
        return document, {row["name"]: row for row in document["rows"]}

    def test_verdicts_and_exit_codes(self):
        a = self.profile("a")
        for factor, verdict, code in ((1, "same", 0), (1.004, "same", 0), (1.015, "unsure", 0), (0.985, "unsure", 0),
                                      (1.028, "differs", 0), (1.05, "differs", 1), (0.9, "differs", 1), (3, "differs", 1)):
            with self.subTest(factor=factor):
                _, params = self.compared(code, a, self.profile("b", sm_clock=factor))
                self.assertEqual(params["sm_clock"]["verdict"], verdict)
                self.assertAlmostEqual(params["sm_clock"]["ratio"], factor)
                self.assertEqual(params["launch_gap"]["verdict"], "same")

    def test_latencies_have_the_smaller_tolerance(self):
        a, b = self.profile("a"), self.profile("b", dram_latency=1.028, launch_gap=1.028)
        _, params = self.compared(1, a, b)
        self.assertEqual([params[name]["verdict"] for name in ("dram_latency", "launch_gap")], ["differs", "differs"])
        self.assertEqual([params[name]["failed"] for name in ("dram_latency", "launch_gap")], [True, False])
        self.compared(0, a, b, "--tolerance", "5")
        self.compared(1, a, b, "--tolerance", "0")
        self.compared(0, a, b, "--only", "launch_gap")

    def test_without_intervals_nothing_is_known(self):
        a, b = self.profile("a"), self.profile("b", width=None, sm_clock=2, launch_gap=1.001)
        document, params = self.compared(0, a, b)
        self.assertEqual((params["sm_clock"]["verdict"], params["launch_gap"]["verdict"]), ("unsure", "same"))
        self.assertIn("1 of the unsure", self.ok("compare", a, b).out)

    def test_what_only_one_has(self):
        a, b = self.profile("a"), self.profile("b", lacks=["sm_clock"])
        _, params = self.compared(1, a, b)
        self.assertEqual(params["sm_clock"]["verdict"], "lacking")
        self.assertEqual((params["sm_clock"]["values"][1], params["sm_clock"]["reason"]), ({}, "B: probe sm_clock failed: no luck"))
        self.compared(0, b, a)
        self.assertIn("lacking: B: probe sm_clock failed: no luck: sm_clock", self.cli("compare", a, b).out)

    def test_three_are_held_against_their_median(self):
        runs = [self.profile("a", sm_clock=1.04), self.profile("b"), self.profile("c", sm_clock=0.99)]
        document, params = self.compared(1, *runs)
        self.assertEqual((params["sm_clock"]["reference"], params["sm_clock"]["farthest"]), (1e9, 0))
        self.assertAlmostEqual(params["sm_clock"]["ratio"], 1.04)
        self.assertEqual([f["date"] for f in document["files"]], ["2026-01-01", "2026-01-02", "2026-01-03"])
        self.compared(0, runs[1], runs[2], runs[1])

    def test_limits_conditions_checks_and_curves(self):
        a = self.profile("a")
        other = json.loads((self.folder / self.profile("b")).read_text())
        first = json.loads((self.folder / a).read_text())
        other["limits"]["sm_count"] = 7
        other["conditions"]["driver"] = "CUDA 12.8"
        other["checks"] = [{"name": "little_law", "passed": False, "text": "1 is not 2"},
                           {"name": "fine", "passed": True, "text": "1 is 1"}]
        line = {"name": "", "x": [1, 2, 4], "y": [10, 20, 40], "low": [9, 19, 39], "high": [11, 21, 41]}
        curve = {"x_name": "degree", "x_unit": "1", "y_name": "time", "y_unit": "clk", "x_logarithmic": True,
                 "y_logarithmic": False, "series": [line]}
        first["curves"] = {"conflicts": curve}
        other["curves"] = {"conflicts": {**curve, "series": [{**line, "x": [1, 2, 3], "y": [10, 16, 40], "low": [9, 15, 39]}]}}
        self.write("a.json", first)
        self.write("b.json", other)
        document, _ = self.compared(0, "a.json", "b.json")
        self.assertEqual(document["differences"], [{"name": "sm_count", "values": [str(toy()["limits"]["sm_count"]), "7"]},
                                                   {"name": "driver", "values": ["CUDA 13.0", "CUDA 12.8"]}])
        self.assertEqual(document["failed_checks"], [{"file": "b.json", "name": "little_law", "text": "1 is not 2"}])
        self.assertEqual(document["curves"], [{"name": "conflicts", "common_points": 2, "largest_ratio": 1.25, "at_x": 2,
                                               "x_unit": "1", "series": ""}])
        text = self.ok("compare", "a.json", "b.json").out
        for needle in ("sm_count: A 10, B 7", "b.json: little_law: 1 is not 2", r"conflicts +1.25 +2 +2"):
            self.assertRegex(text, needle)
        only = self.ok("compare", "a.json", "b.json", "--only", "conflicts", "--json").json()
        self.assertEqual([key for key in ("rows", "differences", "failed_checks") if key in only], [])

    def test_outputs_and_a_pipe(self):
        text = self.ok("compare", "toy", "toy").out
        self.assertRegex(text, r"(?m)^same +\+0\.0 % +sm_clock .* 1 GHz +1 GHz$")
        data = self.ok("compare", "toy", "toy", "--json").out
        self.assertEqual(self.ok("compare", "toy", "toy", "-o", "c.json").out, "")
        self.assertEqual((self.folder / "c.json").read_text(), data)
        self.assertEqual(self.ok("compare", "toy", "toy", "-o", "-").out, data)
        piped = self.ok("compare", "toy", "-", stdin=(SOURCE / "profiles" / "toy.json").read_bytes()).out
        self.assertEqual(piped.replace("standard input", "toy"), text)

    def test_no_line_is_wider_than_the_window(self):
        for columns in (60, 80, 160):
            for words in (("h200", "gtx1080ti"), ("h200", "gtx1080ti", "toy")):
                text = self.cli("compare", *words, env={"COLUMNS": str(columns)}).out
                self.assertLessEqual(max(map(len, text.splitlines())), columns, text)

    def test_bad_questions(self):
        self.profile("a")
        self.all_refused(2, [
            (["compare"], "two or more profiles, got 0", "convcast compare before.json"),
            (["compare", "toy"], "two or more profiles, got 1"),
            (["compare", "-", "-"], "standard input"),
            (["compare", "toy", "h20"], "unknown GPU 'h20'", "did you mean 'h200'"),
            (["compare", "toy", "toy", "--only", "sm_clok"], "'sm_clok'", "did you mean 'sm_clock'"),
            *((["compare", "toy", "toy", "--tolerance", value], "--tolerance must be a number", f"'{value}'")
              for value in ("x", "-1", "3 parts", "nan", "1e9")),
            (["compare", "toy", "toy", "--tolerance", ""], "--tolerance"),
        ])
        self.write("bad.json", "{}")
        self.all_refused(3, [(["compare", "toy", "nowhere.json"], r"nowhere\.json", "No such file"),
                             (["compare", "bad.json", "toy"], "convcast/profile/1"),
                             (["compare", "toy", "toy", "-o", "nowhere/x.json"], "cannot be written")])


class CompareNetworks(Cli):
    def test_two_networks_node_by_node(self):
        text = self.ok("compare", "resnet18", "resnet50").out
        self.assertRegex(text, r"A  resnet18: resnet18, batch 1, on h200")
        self.assertRegex(text, r"(?m)^same +\+0\.0 % +conv1\+bias1\+relu1 ")
        self.assertRegex(text, r"(?m)^slower +.* total ")
        self.assertRegex(text, r"only in resnet50: \d+ nodes, [\d.]+ us")
        document = self.ok("compare", "resnet18", "resnet50", "--json").json()
        self.assertEqual((document["of"], document["values"]), ("networks", "forecast"))
        for side, name in enumerate(("resnet18", "resnet50")):
            alone = self.ok("predict", "--network", name, "--json").json()["cases"][0]["forecast"]["time_s"]
            self.assertEqual(document["total"]["values"][side]["value"], alone)
            times = [row["values"][side].get("value", 0) for row in document["rows"]]
            self.assertAlmostEqual(sum(times) / alone, 1)
        rows = list(csv.DictReader(io.StringIO(self.ok("compare", "resnet18", "resnet50", "--format", "csv").out)))
        self.assertEqual(len(rows), len(document["rows"]) + 1)
        self.assertEqual(rows[-1]["name"], "total")

    def test_one_network_on_two_gpus(self):
        text = self.ok("compare", "alexnet", "--gpu", "h200", "--gpu", "gtx1080ti").out
        self.assertRegex(text, "profile: A h200, B gtx1080ti")
        self.assertNotIn("only in", text)
        self.assertNotRegex(text, r"(?m)^faster ")
        self.assertRegex(self.ok("compare", "alexnet", "alexnet", "--batch", "4").out, r"(?m)^same +\+0\.0 % +total ")

    def test_files_and_recorded_runs(self):
        self.write("mine.json", (SOURCE / "data" / "networks" / "alexnet.json").read_text())
        self.write("run.json", self.ok("predict", "--network", "alexnet", "--json").out)
        for pair in (("mine.json", "alexnet"), ("run.json", "mine.json"), ("run.json", "alexnet")):
            document = self.ok("compare", *pair, "--json").json()
            self.assertEqual({row["verdict"] for row in document["rows"]}, {"same"}, pair)
        if pathlib.Path(BINARY).with_name("convcast-onnx").exists():
            small, large = (SOURCE / "examples" / "onnx" / (name + ".onnx.gz") for name in ("mobilenet_v2", "deeplabv3_resnet50"))
            self.assertIn("only in", self.ok("compare", small, large, "--input-size", "224x224").out)

    def test_what_is_recorded_is_compared_as_measured(self):
        recorded = RECORDED / "networks_whole"
        if not recorded.is_dir():
            self.skipTest("nothing recorded")
        document = self.ok("compare", recorded / "resnet50_b1.json", recorded / "resnet50_b32.json", "--json").json()
        self.assertEqual((document["values"], document["total"]["verdict"]), ("measured", "slower"))

    def test_a_ladder_is_compared_case_by_case(self):
        for batch in (1, 64):
            self.write(f"b{batch}.json", self.ok("predict", "--network", "fashion_mnist", "--ladder", "--batch", str(batch), "--json").out)
        document = self.ok("compare", "b1.json", "b64.json", "--json").json()
        self.assertEqual((document["of"], document["values"]), ("networks", "forecast"))
        its = [json.loads((self.folder / name).read_text())["cases"] for name in ("b1.json", "b64.json")]
        self.assertTrue({case["id"] for case in its[0]} <= {row["name"] for row in document["rows"]})
        for row in document["rows"]:
            for side, cases in enumerate(its):
                self.assertEqual([case["id"] for case in cases].count(row["name"]), 0 if row.get("only", side) != side else 1)
        self.assertNotIn("total", document)
        self.assertIn("compared", self.ok("compare", "b1.json", "b64.json").out)

    def test_no_line_is_wider_than_the_window(self):
        for columns in (60, 80, 160):
            text = self.ok("compare", "resnet18", "resnet50", env={"COLUMNS": str(columns)}).out
            self.assertLessEqual(max(map(len, text.splitlines())), columns, text)

    def test_bad_questions(self):
        self.write("run.json", self.ok("predict", "--network", "alexnet", "--json").out)
        self.all_refused(2, [
            (["compare", "alexnet"], "two networks.*got 1 network"),
            (["compare", "alexnet", "h200"], "got 1 network among 2 files"),
            (["compare", "alexnet", "vgg16", "resnet18"], "got 3 networks"),
            (["compare", "alexnet", "vgg16", *["--gpu", "h200"] * 3], "one GPU or two, got 3 --gpu"),
            (["compare", "run.json", "--gpu", "h200", "--gpu", "toy"], "run.json is a run on one GPU"),
            (["compare", "alexnet", "vgg16", "--by", "shape"], "--by is of two Run documents, and these are networks"),
            (["compare", "h200", "toy", "--batch", "4"], "--batch is of networks, and these are profiles"),
            (["compare", "alexnet", "vgg16", "--batch", "0"], "--batch"),
        ])


# ---- JSON ----

def papers_rules(profile, h, w, m, edge):
    """Equations (4) to (9) and rules 1 to 4 of /shared/papers/equations.md, written down once more."""
    sms, shared, n_fma = profile["sms"], profile["shared"], profile["n_fma"]
    ceil = math.ceil
    exact = fractions.Fraction
    kk, per_sm, rows = edge * edge, ceil(m / sms), ceil(h / sms)

    def smallest(need, room, most):
        if room <= 0:
            return 1
        low = max(1, ceil(exact(need, room)))
        return low if low <= most else 1

    p = smallest(4 * h * w, shared - 4 * kk * per_sm + (1 - edge) * 4 * w, min(h, kk * per_sm * h * w // n_fma))
    q = smallest(4 * m * kk, shared - 4 * w * (rows + edge - 1), min(m, kk * m * rows * w // n_fma))
    lines = h if p == 1 else ceil(h / p) + edge - 1
    d1 = 4 * (kk * per_sm + lines * w)
    d2 = 4 * (kk * ceil(m / q) + (rows + edge - 1) * w)
    division = 1 if d1 < d2 else 2
    return {"method": division, "pieces_p": p if division == 1 else 1, "pieces_q": q if division == 2 else 1,
            "d1_bytes": d1, "d2_bytes": d2, "th1": kk * per_sm * ceil(h / p) * w, "th2": kk * ceil(m / q) * rows * w}


def value_of(term):
    """A term's value from its children's: the waterfall's arithmetic."""
    values = [value_of(child) for child in term.get("children", [])]
    kind = term["kind"]
    if kind == "leaf":
        return term["value_s"]
    if kind == "sum":
        return sum(values)
    if kind == "max":
        return max(values, default=0.0)
    if kind == "pnorm":
        return sum(v ** term["exponent"] for v in values) ** (1 / term["exponent"])
    if kind == "pipeline":
        fill, step, drain = values
        return fill + max(0, term["count"] - 1) * step + drain
    if kind in ("queue", "alike"):  # mean value analysis of a closed queue
        *services, alone = values
        served = [service / max(1.0, term["count"]) for service in services]
        elsewhere, waiting, whole = max(0.0, alone - sum(served)), [0.0] * len(served), 0.0
        for n in range(1, int(min(max(1.0, math.floor(term["count"])), 64)) + 1):
            there = [its * (1 + before) for its, before in zip(served, waiting)]
            whole = elsewhere + sum(there)
            done = 0.5 if kind == "alike" else 0.0  # of the job that is served when another comes
            waiting = [n * (its - done * of_job) / whole if whole > 0 else 0.0 for its, of_job in zip(there, served)]
        return max(whole, *services)
    if kind == "scaled":
        return term["count"] * values[0]
    wave, tail = values
    assert kind == "schedule", kind
    return term["count"] * wave + tail


class Json(Cli):
    WORK = {"fmas", "instructions", "shared_wavefronts", "shared_conflicts", "l2_read_bytes", "l2_write_bytes",
            "dram_read_bytes", "dram_write_bytes"}
    RULES = {"n_fma", "v_s_bytes", "threads_per_sm", "warps_per_sm", "method", "pieces_p", "pieces_q", "d1_bytes", "d2_bytes",
             "th1", "th2", "segment_bytes", "tile_w", "tile_k_min", "step_fma", "bank_ratio", "round_fmas", "round_bytes",
             "bytes_per_clock", "data_bytes", "threads", "bytes_per_sm", "hardware_n_fma", "hardware_bytes", "step_lines", "step_bytes",
             "redivided_filters", "redivided_map", "redivided_bytes", "pixel_uses", "shared_reads", "global_reads"}

    def predict(self, gpu, shape, strategy=None):
        words = ["predict", "--gpu", gpu, "--shape", shape, "--json"] + (["--strategy", strategy] if strategy else [])
        return self.ok(*words).json()

    def test_names_that_stay(self):
        for shape in (SINGLE, MULTI):
            run = self.predict("toy", shape)
            self.assertEqual(set(run), {"schema", "producer", "profile_id", "profile_hash", "conditions", "cases"})
            self.assertEqual(set(run["conditions"]), {"facts", "calibration"})
            self.assertEqual(run["schema"], "convcast/run/1")
            self.assertEqual(set(run["producer"]), {"version", "device_code_hash", "measuring_code_hash"})
            for case in run["cases"]:
                self.assertEqual(set(case), {"shape", "strategy", "status", "prediction"})
                self.assertEqual((case["shape"], case["status"]), (shape, "ok"))
                p = case["prediction"]
                self.assertEqual(set(p) - {"assumptions"}, {"time_s", "times", "time_low_s", "time_high_s", "regimes", "limiter",
                                                            "work", "rates", "plan", "term", "rules"})
                self.assertEqual(set(p["times"]), {"tier0_s", "tier2_s", "roofline_s", "mwp_cwp_s", "warm_s"})
                over_latency = p["regimes"].pop("over_latency")
                self.assertEqual(set(over_latency), {"fmas", "bytes"})
                self.assertEqual(set(p["regimes"]), {"paper", "physical", "tier2"})
                self.assertLessEqual(set(p["regimes"].values()), {"compute_hidden", "bulk_hidden", "exposed"})
                self.assertEqual(set(p["work"]), self.WORK)
                self.assertEqual(set(p["plan"]) - {"prepare", "transformed_fmas"}, {"launches", "workspace_bytes"})
                self.assertLessEqual(set(p["rules"]), self.RULES | {"candidate_p", "candidate_q", "run_pieces", "remarks"})
                launch = p["plan"]["launches"][0]
                self.assertEqual(launch["ctas"], math.prod(launch["grid"]))
                self.assertGreaterEqual(launch["waves"], 1)

    def test_the_tree_adds_up_to_the_time(self):
        for shape in (SINGLE, MULTI, "n1c1h512w512k32r5s5", "n1c64h7w7k64r1s1"):
            for case in self.predict("toy", shape)["cases"]:
                if case["status"] == "infeasible":
                    self.assertGreater(len(case["reason"]), 10)
                    continue
                p = case["prediction"]
                self.assertAlmostEqual(value_of(p["term"]) / p["time_s"], 1.0, places=9)
                self.assertEqual(p["time_s"], p["times"]["tier2_s"])
                self.assertEqual(p["time_s"], p["term"]["value_s"])
                self.assertLessEqual(p["times"]["tier0_s"], p["time_s"])
                self.assertLessEqual(p["time_low_s"], p["time_s"])
                self.assertLessEqual(p["time_s"], p["time_high_s"])
                launches = p["plan"].get("prepare", []) + p["plan"]["launches"]
                self.assertEqual(sum(l["work"]["fmas"] for l in launches), p["work"]["fmas"])

    def test_numbers_of_table_1(self):
        for shape, strategy in (("n1c1h28w28k512r3s3", "filter_split"), (SINGLE, "row_register"), (MULTI, "stride_fixed_block")):
            rules = self.predict("gtx1080ti", shape, strategy)["cases"][0]["prediction"]["rules"]
            self.assertEqual({k: rules[k] for k in ("n_fma", "v_s_bytes", "threads_per_sm", "warps_per_sm")},
                             {"n_fma": 66048, "v_s_bytes": 86016, "threads_per_sm": 768, "warps_per_sm": 24})

    def test_divisions_worked_by_hand(self):
        # Shared memory decides P, and the paper's P overruns it by part of a row; no Q fits at all.
        by_hand = {
            # P: 4*1024*1024 / (98304 - 4*18 - 8192) = 46.6 -> 47; D1 = 4*(18 + (22 + 2)*1024); Th1 = 9*2*22*1024
            # D2 = 4*(288 + (37 + 2)*1024); Th2 = 9*32*37*1024
            "n1c1h1024w1024k32r3s3": {"method": 1, "pieces_p": 47, "pieces_q": 1, "d1_bytes": 98376, "d2_bytes": 160896,
                                      "th1": 405504, "th2": 10911744},
            # all fits at once: D1 = 4*(9*19 + 784), D2 = 4*(4608 + 3*28), Th1 = 9*19*28*28, Th2 = 9*512*1*28
            "n1c1h28w28k512r3s3": {"method": 1, "pieces_p": 1, "pieces_q": 1, "d1_bytes": 3820, "d2_bytes": 18768,
                                   "th1": 134064, "th2": 129024},
        }
        for shape, wanted in by_hand.items():
            rules = self.predict("gtx1080ti", shape, "filter_split")["cases"][0]["prediction"]["rules"]
            self.assertEqual({k: rules[k] for k in wanted}, wanted, shape)
        overrun = self.predict("gtx1080ti", "n1c1h1024w1024k32r5s5", "filter_split")["cases"][0]["prediction"]["rules"]
        self.assertEqual(overrun["d1_bytes"], 98504)
        self.assertGreater(overrun["d1_bytes"], 98304)
        self.assertGreater(overrun["run_pieces"], overrun["pieces_p"])

    def test_divisions_of_the_study_by_a_second_implementation(self):
        gpu = {"sms": 28, "shared": 96 * 1024, "n_fma": 66048}
        run = self.ok("predict", "--gpu", "gtx1080ti", "--study", "chang_single", "--strategy", "filter_split", "--json").json()
        self.assertEqual(len(run["cases"]), 18)
        for case in run["cases"]:
            size = {k: int(v) for k, v in re.findall(r"([nchwkrs])(\d+)", case["shape"])}
            rules = case["prediction"]["rules"]
            wanted = papers_rules(gpu, size["h"], size["w"], size["k"], size["r"])
            self.assertEqual({k: rules[k] for k in wanted}, wanted, case["shape"])

    def test_stride_fixed_block_by_hand(self):
        case = self.predict("gtx1080ti", MULTI, "stride_fixed_block:segment_bytes=64,tile_w=128,tile_k=64")["cases"][0]
        rules = case["prediction"]["rules"]
        # M' >= 66048 * 4 / (64 * 128) = 32.25; FMAs a step = 16 * 64 * 128
        self.assertEqual({k: rules[k] for k in ("segment_bytes", "tile_w", "tile_k_min", "step_fma")},
                         {"segment_bytes": 64, "tile_w": 128, "tile_k_min": 33, "step_fma": 131072})
        # Whole tiles: ceil(54 * 54 / 128) = 23 of a flat map, or tiles of rows; never fewer FMAs than the convolution's.
        self.assertGreaterEqual(case["prediction"]["work"]["fmas"], 64 * 64 * 9 * 54 * 54)

    def test_bank_ratio(self):
        for gpu, ratio in (("k40m", 2), ("gtx1080ti", 1)):
            self.assertEqual(self.predict(gpu, SINGLE, "row_register")["cases"][0]["prediction"]["rules"]["bank_ratio"], ratio)

    def test_a_missing_number_leaves_rules_and_a_reason(self):
        lacking = shipped("profiles/gtx1080ti.json")
        del lacking["launch_floor"]
        self.write("lacking.json", lacking)
        p = self.predict("lacking.json", SINGLE, "filter_split")["cases"][0]["prediction"]
        self.assertNotIn("time_s", p)
        self.assertNotIn("term", p)
        self.assertIn("launch_floor", p["reason"])
        self.assertEqual(p["rules"]["n_fma"], 66048)
        for number in ("launch_floor", "dram_latency", "sm_clock", "dram_read_bandwidth", "ffma_rate"):
            profile = toy()
            del profile[number]
            self.write("less.json", profile)
            with self.subTest(number=number):
                for shape in (SINGLE, MULTI):
                    for case in self.predict("less.json", shape)["cases"]:
                        self.assertNotIn("time_s", case["prediction"])
                        self.assertIn(number, case["prediction"]["reason"])
                        self.assertIn("rules", case["prediction"])

    def test_equal_to_the_byte(self):
        for words in (["predict", "--study", "chang_multi", "--json"], ["choose", "--gpu", "toy", "--shape", MULTI, "--json"],
                      ["predict", "--gpu", "toy", "--shape", SINGLE], ["list", "--json"]):
            self.assertEqual(self.ok(*words).out_bytes, self.ok(*words).out_bytes, words)

    def test_output_file_is_the_same_text(self):
        text = self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out_bytes
        self.assertEqual(self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "-o", "p.json").out_bytes, b"")
        self.assertEqual((self.folder / "p.json").read_bytes(), text)
        self.assertEqual(self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "-o", "-").out_bytes, text)
        self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "-o", "p.json.gz")
        self.assertEqual(gzip.decompress((self.folder / "p.json.gz").read_bytes()), text)
        self.assertEqual(sorted(self.files()), ["p.json", "p.json.gz"])

    def test_a_shape_is_printed_canonically(self):
        for text in ("n01c1h28w28k64r3s3", SINGLE + "_str1x1", SINGLE + "_pad0x0_dil1x1_g1"):
            self.assertEqual(self.predict("toy", text)["cases"][0]["shape"], SINGLE)

    def test_choose_ranks_and_pipes_into_run(self):
        run = self.ok("choose", "--gpu", "toy", "--shape", SINGLE, "--shape", MULTI, "--top", "4", "--json")
        for shape in (SINGLE, MULTI):
            times = [c["prediction"]["time_s"] for c in run.json()["cases"] if c["shape"] == shape]
            self.assertEqual(len(times), 4)
            self.assertEqual(times, sorted(times))
        self.refused(4, ["run", "-"], NO_GPU, stdin=run.out_bytes)
        self.refused(4, ["run", "-", "--json"], NO_GPU, stdin=run.out_bytes)

    def test_forecasts_of_another_profile_are_refused_and_measured_times_are_not(self):
        run = self.predict("h200", SINGLE)
        run["profile_hash"] = "0" * 32
        forecast = self.write("forecast.json", run)
        self.refused(2, ["predict", forecast], "not the one that ships; give it again with --gpu FILE")
        for case in run["cases"]:
            del case["prediction"]
        measured = self.write("measured.json", run)
        again = self.ok("predict", measured).json()
        self.assertNotEqual(again["profile_hash"], run["profile_hash"])
        self.assertTrue(all(case["prediction"]["time_s"] > 0 for case in again["cases"] if case["status"] == "ok"))

    def test_report_of_a_forecast_only(self):
        run = self.ok("predict", "--gpu", "toy", "--study", "chang_single", "--json").out_bytes
        statistics = self.ok("report", "-", "--json", stdin=run).json()
        self.assertEqual(len(statistics["cases"]), len(json.loads(run)["cases"]))
        self.assertEqual(self.files(), {}, "--json alone writes no file")
        self.ok("report", "-", "-o", "a", stdin=run)
        page = (self.folder / "a" / "page.html").read_text()
        self.assertIn("Content-Security-Policy", page)
        self.assertNotRegex(page.split("<script")[0], r"\b(nan|inf)\b")
        self.ok("report", "-", "-o", "b", stdin=run)
        for path in (self.folder / "a").rglob("*"):
            if path.is_file():
                self.assertEqual(path.read_bytes(), (self.folder / "b" / path.relative_to(self.folder / "a")).read_bytes(), path)

    def test_report_of_a_choice_keeps_the_names_of_layers(self):
        self.write("layers.csv", "name,shape,count\nstem,n1c3h28w28k16r3s3,1\nbody,n1c16h28w28k16r3s3,6\n")
        self.ok("choose", "--shapes", "layers.csv", "--json", "--top", "2", "-o", "choice.json")
        said = self.ok("report", "choice.json", "-o", "page").out
        self.assertRegex(said, r"^[\d.]+ µs for 7 calls of 2 shapes, each by the fastest of the 4 kernels that were forecast\. "
                               r"Nothing was measured")
        page = (self.folder / "page" / "page.html").read_text()
        self.assertRegex(page, r"<th scope=\"col\">layer</th><th scope=\"col\">shape</th>")
        self.assertRegex(page, r"<th scope=\"row\">body</th>.*<td>6</td>")
        packed = re.search(r'<script type="text/plain" data-page="cases">(.*?)</script>', page, re.S).group(1)
        self.assertEqual(set(json.loads(gzip.decompress(base64.b64decode(packed)))["layer"]["texts"]), {"stem", "body"})

    def test_report_of_steps_refuses_what_it_does_not_do(self):
        for document in ("scaling/two_gpus.json", "training/mnist.json", "networks_whole/alexnet_b1.json",
                         "ladders/mnist_b2048.json"):
            for option in (("--format", "csv"), ("--format", "markdown"), ("--times", "x.csv"), ("--bundle", "x.tar")):
                self.refused(2, ["report", RECORDED / document, *option], "of a run", "--figure and --json")
        self.assertEqual(self.ok("report", RECORDED / "scaling/two_gpus.json", "--format", "json").json()["schema"], "convcast/network_run/3")
        self.assertEqual(self.files(), {}, "what is refused writes nothing, nor does JSON alone")

    def test_report_of_a_network_names_pytorch_where_the_recording_has_it(self):
        recorded = RECORDED / "networks_whole"
        said = self.ok("report", recorded / "resnet50_b1.json", "-o", "page").out
        self.assertRegex(said, r"resnet50 on NVIDIA H200, batch 1: 540 µs measured.* PyTorch 2\.11\.0 with cuDNN 9\.19, FP32 takes 2048 µs, 3\.79×")
        page = (self.folder / "page" / "page.html").read_text()
        self.assertIn("<h1>resnet50, batch 1, on NVIDIA H200</h1>", page)
        (self.folder / "alone.json").write_bytes((recorded / "resnet50_b1.json").read_bytes())
        self.assertNotIn("PyTorch", self.ok("report", "alone.json", "-o", "page").out)
        self.write("pytorch.json", "{}")
        self.assertRegex(self.cli("report", "alone.json", "-o", "page").err, r"PyTorch's time is left out: .*pytorch\.json")

    def test_text_of_a_document_stays_text_in_the_page(self):
        run = self.predict("toy", SINGLE)
        run["profile_id"] = "</script><script>alert(1)</script>"
        run["cases"][0].update(status="failed", reason="<img src=x onerror=alert(2)>", study="<b>bold")
        self.ok("report", self.write("run.json", run), "-o", "page")
        page = (self.folder / "page" / "page.html").read_text()
        for text in ("<script>alert", "<img src=x", "<b>bold"):
            self.assertNotIn(text, page)

    def test_reproduce(self):
        answers = self.ok("reproduce", "all", "--json").json()
        self.assertEqual([a["paper"] for a in answers], ["chang", "chen", "vadlamudi", "cibil"])
        self.assertEqual(self.files(), {}, "--json alone writes no file")
        claims = {(a["paper"], c["item"], c["claim"]): c for a in answers for c in a["findings"]}
        self.assertEqual(claims["vadlamudi", "figure_4", "constant memory refuses both filters"]["found"], "0x338c0 > 0x10000")
        self.assertTrue(all(c["verdict"] in ("holds", "in_part", "differs", "follows", "open") and c["sentence"] for c in claims.values()))
        text = self.ok("reproduce", "chang", "--only", "figure_5", "--only", "table_1", "-o", "out").out
        self.assertIn("1.39×", text)
        made = {name for name, content in self.files().items() if content is not None}
        self.assertLessEqual({"out/chang/page.html", "out/chang/chang.tex", "out/chang/chang.bib", "out/chang/claims.csv",
                              "out/chang/figures/figure_5_b_speedup.csv", "out/chang/tables/table_1.csv"}, made)
        page = (self.folder / "out/chang/page.html").read_text()
        self.assertIn("Content-Security-Policy", page)
        self.assertNotIn('id="figure_4"', page)
        self.ok("reproduce", "chang", "--docs", "new/docs")
        self.assertTrue((self.folder / "new/docs/chang.md").is_file())
        self.ok("reproduce", "chang", "--only", "figure_5", "--gpu", "toy", "-o", "toy")  # nothing was measured on it
        self.assertIn("That was not measured", (self.folder / "toy/chang/claims.csv").read_text())

    def test_reproduce_shows_no_measurement_of_another_gpu(self):
        """The profile of an H200 under the name of a GPU that nobody has recorded."""
        profile = shipped("profiles/h200.json")
        profile.update(id="mine", name="NVIDIA Mine")
        self.write("mine.json", profile)
        text = " ".join(self.ok("reproduce", "vadlamudi", "--gpu", "mine.json", "-o", "out").out.split())
        self.assertIn("The ladder of fashion_mnist, its training and its steps over several GPUs were not measured on Mine", text)
        pages = [content.decode() for name, content in self.files().items() if content and name.endswith((".html", ".csv", ".tex"))]
        self.assertGreater(len(pages), 3)
        accuracy = shipped("data/recorded/h200/training/fashion_mnist.json")["cases"][0]["accuracy"]
        for page in pages:
            self.assertNotIn(f"{100 * accuracy:.2f}", page)
        self.assertIn("were not measured on Mine", "".join(pages))
        self.assertIn("No training on Mine is recorded", "".join(pages))
        claims = (self.folder / "out/vadlamudi/claims.csv").read_text()
        self.assertRegex(claims, r"µs: [\d.]+× forecast for the Mine")
        self.assertNotIn("× on the Mine", claims)
        self.assertRegex(claims, r"an image \(forecast Mine\),.* is forecast to take ")
        answers = self.ok("reproduce", "all", "--gpu", "mine.json", "--json", timeout=300).json()
        for answer in answers:
            self.assertEqual(answer["measured"], "", answer["paper"])
        self.assertEqual([bool(answer["not_measured"]) for answer in answers], [False, False, True, True])
        own = self.ok("reproduce", "vadlamudi", "--json").json()[0]
        self.assertEqual(own["not_measured"], "")
        self.assertIn(f"{100 * accuracy:.2f}", json.dumps(own))

    def another_gpu(self, name="NVIDIA Mine"):
        """Recordings as this program would make them on a GPU that nobody has, and that GPU's profile."""
        profile = shipped("profiles/h200.json")
        profile.update(id="mine", name=name)
        self.write("mine.json", profile)
        here = self.ok("predict", "--shape", SINGLE, "--strategy", "naive_global", "--json").json()["producer"]
        for study in ("chang", "chang_settings", "chen", "regime_map"):
            run = json.loads(gzip.decompress((RECORDED / f"{study}.json.gz").read_bytes()))
            run["conditions"]["gpu"] = name
            run["producer"] = here
            self.write(f"{study}.json", run)
        return here

    def test_reproduce_reads_recordings_of_a_new_gpu(self):
        here = self.another_gpu()
        given = [word for study in ("chang", "chang_settings", "chen") for word in ("--run", f"{study}.json")]
        answers = {a["paper"]: a for a in self.ok("reproduce", "all", "--gpu", "mine.json", *given, "--json", timeout=300).json()}
        for paper in ("chang", "chen"):
            self.assertIn("NVIDIA Mine", answers[paper]["measured"])
        self.assertEqual(answers["vadlamudi"]["measured"], "", "what ships is of another GPU")
        shipped = {c["claim"]: c for c in self.ok("reproduce", "chang", "--only", "figure_4", "--json").json()[0]["findings"]}
        claim = "average speed-up over cuDNN 7.1, GTX 1080 Ti"
        mine = next(c for c in answers["chang"]["findings"] if c["claim"] == claim)
        self.assertEqual(mine["verdict"], shipped[claim]["verdict"])
        self.assertEqual(mine["found"], shipped[claim]["found"].replace("H200", "Mine"))
        run = json.loads((self.folder / "chang.json").read_text())
        run["producer"] = {**here, "device_code_hash": "0" * 32}
        self.write("old.json", run)
        run["producer"] = {**here, "version": "0.0.9"}
        self.write("earlier.json", run)
        run["schema"] = "convcast/run/2"
        self.write("later.json", run)
        run.update(schema="convcast/run/1", producer=here)
        run["conditions"]["sms"] = "64"
        self.write("part.json", run)
        for name, words in (("forecast", ["--ladder"]), ("whole", [])):
            network = "mnist" if words else "alexnet"
            self.write(f"{name}.json", self.ok("predict", "--network", network, *words, "--json").out)
        ask = ["reproduce", "chang", "--gpu", "mine.json", "--json", "--run"]
        recorded = str(SOURCE / "data" / "recorded")
        for file, *needles in [
                (f"{recorded}/h200/chang.json.gz", "measured on NVIDIA H200", "would be of NVIDIA Mine", "--gpu h200"),
                (f"{recorded}/h100/grouped.json.gz", "measured on NVIDIA H100", "--gpu h100"),
                (f"{recorded}/h100/layers.json.gz", "measured on NVIDIA H100", "would be of NVIDIA Mine",
                 "pages of that GPU cannot use it either: it has no measured case of a study"),
                ("later.json", "convcast/run/2", "convcast/run/1"),
                ("old.json", "another version", "device code 00000000, and this program has", "other kernels",
                 "measure it again: convcast run --study chang_"),
                ("earlier.json", "another version: version 0.0.9", "measure it again: convcast run --study chang_"),
                ("part.json", "64 of the GPU's SMs", "without --sms"),
                ("chen.json", "the study chen_general", "no page that is asked uses", "the study chang_multi"),
                ("forecast.json", "nothing in it was measured"),
                ("whole.json", "nothing in it was measured"),
                ("mine.json", "convcast/profile/1", "given by --gpu"),
                ("none.json", "none.json", "No such file")]:
            with self.subTest(file=file):
                self.refused(3, [*ask, file], *needles)
        # What ships is used, and the page says where its kernels were others.
        answer = self.ok("reproduce", "chang", "--run", f"{recorded}/h200/chang.json.gz", "--json", "-o", "old").json()[0]
        if recording("chang.json.gz")["producer"]["device_code_hash"] != here["device_code_hash"]:
            self.assertRegex(answer["of_other_code"], r"^Recorded with other device code than this program has: .*the study chang_multi.*device code")
            self.assertIn(answer["of_other_code"], (self.folder / "old/chang/page.html").read_text())
        self.refused(3, [*ask, "chang.json", "--run", "./chang.json"], "which ./chang.json has too|which chang.json has too", "convcast merge")

    def test_reproduce_plans_what_it_would_measure(self):
        words = ["reproduce", "all", "--measure", "--plan", "-o", "out"]
        plan = self.ok(*words).out
        self.assertEqual(self.files(), {}, "a plan writes nothing")
        lines = plan.splitlines()
        for needle in ("convcast run --study chang_multi --choose 3 --gpu h200 --device 0 -o out/measured/chang_multi.json.gz",
                       "convcast run --network fashion_mnist --batch 1024 --gpu h200 --device 0 -o out/measured/ladder_fashion_mnist_b1024.json"):
            self.assertIn(needle, lines)
        steps = next(i for i, line in enumerate(lines) if "--devices 0,1" in line)
        self.assertIn("# where two GPUs are there", lines[steps - 1])
        self.assertRegex(plan, r"# not measured: the training of fashion_mnist: .*--data fashion_mnist=FOLDER")
        self.assertNotIn("--data", "".join(line for line in lines if not line.startswith("#")))
        with_data = self.ok(*words, "--data", "fashion_mnist=images", "--device", "1").out
        self.assertIn("convcast run --network fashion_mnist --data images --gpu h200 --device 1 -o out/measured/training_fashion_mnist.json",
                      with_data.splitlines())
        self.another_gpu()
        other = self.ok(*words, "--gpu", "mine.json").out
        self.assertEqual(other, plan.replace("--gpu h200", "--gpu mine.json"), "the same on every GPU")
        left = self.ok(*words, "--gpu", "mine.json", "--run", "chang.json").out
        self.assertNotIn("--study chang_multi --choose", left, "what was measured before is not measured again")
        self.assertIn("--study chen_general --choose", left)
        self.assertEqual(lines[0], "mkdir -p out/measured")
        (self.folder / "out/measured").mkdir(parents=True)
        commands = [shlex.split(line)[1:] for line in lines if line.startswith("convcast run ")]
        for command in commands[:2] + commands[-3:]:
            got = self.cli(*command)
            self.assertEqual(got.code, 4, (command, got.err))  # a GPU is all that is missing

    def test_reproduce_writes_docs_and_pages(self):
        both = self.ok("reproduce", "chang", "--docs", "docs", "-o", "pages").out
        self.assertTrue((self.folder / "docs/chang.md").is_file())
        self.assertTrue((self.folder / "pages/chang/page.html").is_file())
        self.assertIn("page:    pages/chang/page.html", both)
        self.assertIn("docs:    docs/chang.md", both)
        alone = self.ok("reproduce", "chang", "--docs", "alone").out
        self.assertEqual(alone, "alone/chang.md\n")
        self.assertFalse((self.folder / "papers").exists())

    def checksums(self, folder):
        return {line[66:]: line[:64] for line in (self.folder / folder / "SHA256SUMS").read_text().splitlines()}

    def made_artifact(self, *words, **options):
        """Nothing is said but, of a program with files that are in no commit, that nobody can build it again."""
        done = self.answered(0, *words, **options)
        self.assertRegex(" ".join(done.err.split()), r"\A(convcast: note: this program was built from files that are in no commit.*anew)?\Z")
        return done

    def test_an_artifact_is_complete_and_made_again(self):
        said = self.made_artifact("reproduce", "all", "--artifact", "art", timeout=300)
        self.assertEqual(said.out, "art\n")
        made = {name.removeprefix("art/"): content for name, content in self.files().items() if content is not None}
        self.assertEqual({name: hashlib.sha256(content).hexdigest() for name, content in made.items() if name != "SHA256SUMS"},
                         self.checksums("art"), "all files but the list of them")
        for name in ("README.md", "appendix.tex", "appendix_body.tex", "environment.json", "papers/chang/page.html", "papers/cibil/cibil.tex",
                     "papers/chen/claims.csv", "raw/h200/ladders/mnist_b2048.json"):
            self.assertIn(name, made)
        self.assertEqual(made["raw/h200/chang.json.gz"], (SOURCE / "data/recorded/h200/chang.json.gz").read_bytes())
        rows = [line.split("\t") for line in made["expected_values.tsv"].decode().splitlines()]
        self.assertEqual({len(row) for row in rows}, {10})
        claims = sum(len(list(csv.DictReader(io.StringIO(made[f"papers/{p}/claims.csv"].decode())))) for p in ("chang", "chen", "vadlamudi", "cibil"))
        self.assertEqual(len(rows) - 1, claims, "every judged claim")
        self.assertTrue(all(row[7] and row[8] in ("0", "10") for row in rows[1:]))
        environment = json.loads(made["environment.json"])
        self.assertEqual(environment["raw/h200/chang.json.gz"]["gpu"], "NVIDIA H200")
        for key in ("version", "commit", "compiler", "device_code_hash"):
            self.assertTrue(environment["program"][key])
        counts = [a["counts"] for a in self.ok("reproduce", "all", "--json", timeout=300).json()]
        judged, is_open, follow = (sum(c[v] for c in counts for v in verdicts)
                                   for verdicts in (("holds", "in_part", "differs"), ("open",), ("follows",)))
        self.assertEqual(judged + is_open + follow, claims)
        self.assertIn(f"{judged + is_open} claims, of which {judged} are judged, and {follow} printed numbers", made["appendix_body.tex"].decode())
        for name in ("README.md", "appendix.tex", "appendix_body.tex", "make_again.sh"):
            self.assertNotRegex(made[name].decode(), r"@[A-Z_]+@")

        self.refused(3, ["reproduce", "chang", "--artifact", "art"], "art: is a folder that is not empty", "does not exist yet")
        self.refused(2, ["reproduce", "chang", "--artifact", "x.tar"], "x.tar would be a folder")
        self.refused(2, ["reproduce", "chang", "--artifact", "x", "--only", "table_1"], "leave out --only")
        for tool in ("sh", "awk", "sha256sum"):
            if shutil.which(tool) is None:
                self.skipTest(f"{tool} is not installed")

        def again(*words):
            return subprocess.run(["sh", "art/make_again.sh", *words], cwd=self.folder, env={**os.environ, "CONVCAST": BINARY}, capture_output=True, text=True,
                                  timeout=300, check=False)
        same = again()
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("the same", same.stdout)
        self.assertEqual(self.checksums("art"), self.checksums("art_again"))

        # One verdict was another.
        rows = (self.folder / "art/expected_values.tsv").read_text().splitlines()
        changed = next(i for i, row in enumerate(rows) if row.split("\t")[6] == "holds")
        rows[changed] = "\t".join("differs" if i == 6 else cell for i, cell in enumerate(rows[changed].split("\t")))
        (self.folder / "art/expected_values.tsv").write_text("\n".join(rows) + "\n")
        broken = again("third")
        self.assertEqual(broken.returncode, 2)
        self.assertIn("something in it was changed", broken.stderr)
        self.assertFalse((self.folder / "third").exists())
        sums = self.checksums("art")
        sums["expected_values.tsv"] = hashlib.sha256((self.folder / "art/expected_values.tsv").read_bytes()).hexdigest()
        (self.folder / "art/SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
        other = again("third")
        self.assertEqual(other.returncode, 1, other.stdout + other.stderr)
        self.assertRegex(other.stdout, r"verdict:     chang, .*: was differs .*, is holds")
        self.assertIn("1 not as expected", other.stdout)

    def test_an_artifact_of_recordings_that_were_given(self):
        self.another_gpu()
        (self.folder / "in").mkdir()
        for study in ("chang", "chang_settings"):
            (self.folder / f"{study}.json").rename(self.folder / f"in/{study}.json")
        self.made_artifact("reproduce", "chang", "--gpu", "mine.json", "--run", "in/chang_settings.json", "--run", "in/chang.json", "--artifact", "art")
        self.assertEqual((self.folder / "art/raw/chang.json").read_bytes(), (self.folder / "in/chang.json").read_bytes())
        self.assertEqual((self.folder / "art/raw/mine.json").read_bytes(), (self.folder / "mine.json").read_bytes())
        for name in ("in", "mine.json"):
            (self.folder / name).rename(self.folder / f"{name}.gone")
        self.made_artifact("reproduce", "chang", "--gpu", "art/raw/mine.json", "--run", "art/raw/chang.json", "--run", "art/raw/chang_settings.json",
                "--artifact", "again")
        self.assertEqual(self.checksums("art"), self.checksums("again"))
        self.assertEqual([name for name in self.files() if "unfinished" in name], [])

    def test_the_folder_of_a_paper_is_not_made_twice(self):
        for folder in ("chang", "x/chang/"):
            self.ok("reproduce", "chang", "--only", "table_1", "-o", folder)
        self.ok("reproduce", "chang", "chen", "--only", "table_1", "-o", "chen")
        pages = {name for name in self.files() if name.endswith("page.html")}
        self.assertLessEqual({"chang/page.html", "x/chang/page.html"}, pages)
        self.assertFalse({"chang/chang/page.html", "x/chang/chang/page.html"} & pages)
        self.assertIn("chen/chang/page.html", pages)

    def test_a_files_name_makes_no_folder(self):
        self.write("run.json", self.ok("predict", "--shape", SINGLE, "--strategy", "naive_global", "--json").out)
        chang = str(RECORDED / "chang.json.gz")
        self.all_refused(2, [
            (["report", "run.json", "-o", "x.png"], "x.png would be a folder", "for a folder of this name type x.png/"),
            (["report", chang, "--figure", "error_cdf", "-o", "x.png"], r"written as .svg, .pdf, .tex or .csv, not as .png", r"x\.svg"),
            (["report", chang, "--figure", "error_cdf", "-o", "x.eps"], r"not as .eps"),
            (["reproduce", "chang", "-o", "x.pdf"], "x.pdf would be a folder"),
            (["list", "--schemas", "x.json"], "x.json would be a folder")])
        self.ok("report", "run.json", "-o", "page.v2/")
        self.assertTrue((self.folder / "page.v2" / "page.html").exists())
        self.ok("report", "run.json", "-o", "page.v2")

    def test_what_reproduce_refuses(self):
        self.write("bad.json", '{"schema": "convcast/paper/1", "id": "p"}')
        self.all_refused(2, [
            (["reproduce"], "no paper given", "chang, chen, vadlamudi, cibil, all"),
            (["reproduce", "chnag"], "did you mean 'chang'", "Known: chang, chen, vadlamudi, cibil"),
            (["reproduce", "chang", "--only", "figure_7"], "no item 'figure_7' in chang", "There are: .*figure_4"),
            (["reproduce", "chang", "--gpu", "1080ti"], "did you mean 'gtx1080ti'"),
            (["reproduce", "chang", "--device", "1"], "--device is for --measure"),
            (["reproduce", "chang", "--docs", "x", "--only", "table_1"], "leave out --only"),
            (["reproduce", "chang", "--docs", "x", "--run", "run.json"], "leave out .*--run"),
            (["reproduce", "chang", "--plan"], "give --measure too"),
            (["reproduce", "chang", "--data", "mnist=x"], "that --measure runs"),
            (["reproduce", "vadlamudi", "--measure", "--plan", "--data", "images"], "--data fashion_mnist=FOLDER, got 'images'"),
            (["reproduce", "vadlamudi", "--measure", "--plan", "--data", "fashion=x"], "did you mean 'fashion_mnist'")])
        self.refused(3, ["reproduce", "bad.json"], "missing required field", problems=5)
        paper = shipped("data/papers/chang.json")
        computed = next(item for item in paper["items"] if item["answer"].get("by"))
        computed["answer"]["by"] = "gainz"
        self.write("mine.json", paper)
        self.refused(3, ["reproduce", "mine.json", "--json"], rf"mine.json:\d+: /items/{paper['items'].index(computed)}/answer/by: expected a method")
        shown = next(i for i, item in enumerate(paper["items"]) if item["answer"].get("method", {}).get("shown"))
        computed["answer"]["by"] = "gains"
        paper["items"][shown]["answer"]["method"]["shown"] = ["regime_map"]
        self.refused(3, ["reproduce", self.write("mine.json", paper), "--json"],
                     rf"mine.json:\d+: /items/{shown}/answer/method/shown/0: expected a figure that reports have.*did you mean 'regime_maps'")
        paper["items"][shown]["answer"]["method"]["shown"] = ["host_copy_sizes"]  # which the toy does not have
        self.ok("reproduce", self.write("mine.json", paper), "--only", paper["items"][shown]["id"], "--gpu", "toy", "--json")
        self.refused(4, ["reproduce", "chang", "--only", "figure_4", "--measure", "-o", "x"], NO_GPU,
                     "Without --measure .* recordings of an H200")

    def test_report_of_a_profile(self):
        profile = toy()
        profile["dram_read_curve"] = {"bytes_in_flight": [1000, 2000, 4000], "bandwidth": [1e10, 2e10, 3e10]}
        self.assertIn("15 numbers", self.ok("report", self.write("mine.json", profile), "-o", "curve").out)
        self.assertTrue('id="f-dram_read_curve"' in (self.folder / "curve" / "page.html").read_text())
        self.assertTrue((self.folder / "curve" / "figures" / "dram_read_curve.csv").exists())
        self.ok("report", "toy", "-o", "a")
        page = (self.folder / "a" / "page.html").read_text()
        self.assertTrue("Content-Security-Policy" in page)
        self.ok("report", self.write("mine.json", toy()), "-o", "b")
        self.ok("report", "-", "-o", "c", stdin=(SOURCE / "profiles" / "toy.json").read_bytes())
        for other in "bc":
            self.assertTrue((self.folder / other / "page.html").read_text() == page, other)
        before = self.files()
        self.assertEqual(self.ok("report", "mine.json", "--json").json()["id"], "toy")
        self.assertEqual(self.files(), before, "--json alone writes no file")
        self.refused(2, ["report", "mine.json", "--study", "chang_single"], "--study", "profile")
        self.refused(3, ["report", self.write("later.json", {**toy(), "schema": "convcast/profile/2"})], "convcast/profile/1", "convcast/profile/2")

    def test_who_wins_where_is_a_figure(self):
        sweep = ["choose", "--shape", MULTI, "--sweep", "h=w=28:112:28"]
        drawn = self.cli(*sweep, "--figure", "wins", "--width", "88mm")
        self.assertEqual((drawn.code, drawn.out), (0, self.ok(*sweep).out), "the table stays as it is")
        self.assertRegex(drawn.err, r"convcast: wrote wins/who_wins\.svg\n")
        written = {p.name for p in (self.folder / "wins").iterdir()}
        self.assertLessEqual({"who_wins.svg", "who_wins.csv", "who_wins.tex", "who_wins_caption.tex", "convcast.bib"}, written)
        rows = (self.folder / "wins" / "who_wins.csv").read_text().splitlines()
        self.assertEqual(rows[0], "series,study,shape,strategy,knobs,regime,measured_regime,case,"
                                  "\"x (h = w: height of the map, width of the map)\",y (time / the fastest),label")
        winners = {row.split(",")[2]: row.split(",")[0] for row in rows[1:] if re.search(r',\d+,1,"', row)}
        said = {row.split()[0]: row.split()[-1] for row in self.ok(*sweep).out.splitlines()[2:6]}
        self.assertEqual(winners["n1c64h28w28k64r3s3"], said["n1c64h28w28k64r3s3"])
        self.all_refused(2, [
            ([*sweep, "--width", "88mm"], "--width is that of --figure", "--sweep"),
            ([*sweep, "--figure", "x.svg", "--width", "3mm"], "'3mm'", "88mm"),
            (["choose", "--shape", MULTI, "--figure", "x.svg"], "two answers at least", "--sweep"),
            (["choose", "--shape", MULTI, "--measure", "2", "--figure", "x.svg"], "--measure times one answer"),
            (["choose", "--study", "sweep", "--figure", "x.svg"], "200 are more than the 60", "--sweep"),
            (["choose", "--network", "vgg16", "--figure", "x.svg"], "--figure", "network"),
        ])
        self.refused(3, [*sweep, "--figure", "nowhere/x.svg"], "nowhere")

    @unittest.skipUnless(RECORDED.is_dir(), "nothing recorded")
    def test_the_papers_kernels_are_said_to_be_as_run(self):
        """What `report` says of them in predict's default settings, `reproduce` says too, beside the paper's own settings."""
        report = self.ok("report", RECORDED / "chang.json.gz", "-o", "page").out
        self.assertNotIn("the paper's filter_split", report)
        faster, mean = re.search(r"filter_split/map_split, as run +cudnn +(\d+ of 18) +\S+ +(\d\.\d\d)x", report).groups()
        self.assertIn('"as run": the kernel of the study\'s paper in this run\'s settings', report)
        found = " ".join(self.ok("reproduce", "chang", "--only", "figure_4", "-o", "figure_4").out.split())
        self.assertIn(f"on 9 of 18 shapes (H200); on {faster} in predict's default", found)
        self.assertRegex(found, rf"\(H200\), arithmetic mean [\d.]+×; {mean}× in predict's default")

    @unittest.skipUnless(RECORDED.is_dir(), "nothing recorded")
    def test_agreement_of_regimes_stands_beside_a_constant_guess(self):
        report = self.ok("report", RECORDED / "regime_map.json.gz", "-o", "page").out
        head, *rows = report[report.index("regimes of"):].splitlines()
        self.assertRegex(head, r"agree +always one +kappa")
        self.assertRegex(rows[0], r"^all +paper's rule +112 +54\.5 % +78\.6 % +0\.235 ")
        page = (self.folder / "page" / "page.html").read_text()
        self.assertRegex(page, r"agrees with the counters on \d+ of 112 cases \(kappa [\d.]+; always saying exposed agrees on 88\)")

    def test_one_figure_for_a_paper(self):
        measured = RECORDED / "boundaries.json.gz"
        self.ok("report", measured, "--figure", "error_cdf", "--width", "88mm", "-o", "cdf.svg")
        self.assertEqual(set(self.files()), {"cdf.svg", "cdf_caption.tex", "convcast.bib"})
        svg = (self.folder / "cdf.svg").read_text()
        self.assertIn('width="249.45pt"', svg)
        self.assertIn("font:8px", svg)
        self.ok("report", measured, "--figure", "regime_map_map_split_3x3", "-o", "map.tex")
        self.assertIn("\\columnwidth", (self.folder / "map.tex").read_text())
        self.ok("report", measured, "--figure", "predicted_vs_measured", "--width", "page", "-o", "all")
        for ending in ("svg", "tex", "csv"):
            self.assertTrue((self.folder / "all" / f"predicted_vs_measured.{ending}").exists(), ending)
        head = (self.folder / "all" / "predicted_vs_measured.csv").read_text().splitlines()[0]
        self.assertTrue(head.startswith("series,study,shape,strategy,knobs,regime,measured_regime,case,"), head)
        self.ok("report", "h200", "--figure", "dram_read_curve", "-o", "curve.csv")
        before = self.files()
        self.refused(2, ["report", measured, "--figure", "cdf", "-o", "x.svg"], "no figure 'cdf'", "error_cdf")
        self.refused(2, ["report", measured, "--figure", "error_cdf"], "needs -o", "folder")
        self.refused(2, ["report", measured, "--figure", "error_cdf", "--json", "-o", "x.svg"], "--json")
        self.refused(2, ["report", measured, "--width", "88mm", "-o", "x"], "--width is for one figure")
        for width in ("88", "3mm", "wide", "nanmm"):
            self.refused(2, ["report", measured, "--figure", "error_cdf", "--width", width, "-o", "x.svg"], width, "88mm")
        forecast = self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out_bytes
        self.refused(2, ["report", "-", "--figure", "error_cdf", "-o", "x.svg"], "is empty", "figures with points: waterfall", stdin=forecast)
        self.refused(3, ["report", measured, "--figure", "error_cdf", "-o", "nowhere/x.svg"], "nowhere")
        self.assertEqual(self.files(), before)

    def test_the_diagram_of_a_partition(self):
        said = self.answered(0, "predict", "--shape", MULTI, "--strategy", "stride_fixed_block", "--diagram", "d.svg")
        self.assertIn("d.svg", said.err)
        self.assertIn("reads and computes", (self.folder / "d.svg").read_text())
        self.assertIn("stride\\_fixed\\_block", (self.folder / "d_caption.tex").read_text())
        for words, needle in (
                (["--shape", MULTI, "--diagram", "x.svg"], "one shape by one strategy"),
                (["--shape", MULTI, "--strategy", "winograd", "--diagram", "x.svg"], "no diagram is known"),
                (["--shape", MULTI, "--strategy", "map_split", "--diagram", "x.svg"], "nothing to draw"),
                (["--shape", MULTI, "--strategy", "block_register", "--diagram", "x.png"], ".svg or .pdf"),
                (["--shape", MULTI, "--strategy", "block_register", "--width", "1mm", "--diagram", "x.svg"], "88mm")):
            self.refused(2, ["predict", *words], needle)
            self.assertFalse((self.folder / "x.svg").exists(), words)

    def test_shapes_are_picked_by_a_word(self):
        def picked(*words):
            return [case["shape"] for case in self.ok("predict", "--strategy", "naive_global", "--json", *words).json()["cases"]]
        first = picked("--study", "chang_multi", "--pick", "5:8745c868")
        self.assertEqual(len(first), 5)
        self.assertEqual(first, picked("--study", "chang_multi", "--pick", "5:8745c868"))
        self.assertEqual(first[:3], picked("--study", "chang_multi", "--pick", "3:8745c868"))  # fewer are the first of more
        self.assertNotEqual(first, picked("--study", "chang_multi", "--pick", "5:8745c869"))
        self.assertLess(set(first), set(picked("--study", "chang_multi")))
        few = self.cli("predict", "--shape", MULTI, "--pick", "9:word", "--strategy", "naive_global")
        self.assertEqual((few.code, few.err), (0, "convcast: note: --pick 9: there are 1 shapes, and all are taken\n"))
        for bad in ("5", "5:", "0:a", "x:a", ":a", "-1:a"):
            self.refused(2, ["predict", "--study", "chang_multi", "--pick", bad], "--pick takes how many shapes and a word .*--pick 40:8745c868")
        self.refused(2, ["predict", "--network", "mnist", "--pick", "3:a"], "--network and --pick were both given")

    def test_a_studys_name_is_no_path(self):
        run = self.predict("toy", SINGLE)
        run["cases"][0]["study"] = "a/b"
        self.ok("report", self.write("run.json", run), "-o", "page")

    def test_list(self):
        listing = self.ok("list", "--json").json()
        self.assertEqual(set(listing), {"strategies", "baselines", "gpus", "studies", "networks"})
        self.assertEqual([s["name"] for s in listing["strategies"]],
                         ["filter_split", "map_split", "row_register", "stride_fixed_block", "implicit_gemm", "block_register",
                          "channel_split", "filter_stream", "map_stream", "naive_global", "naive_shared", "patch_register",
                          "winograd", "implicit_gemm_3xtf32", "depthwise", "depthwise_register", "grouped_register"])
        self.assertEqual(self.ok("list", "--schema", "profile").out, (SOURCE / "docs" / "schemas" / "profile.json").read_text())
        self.refused(2, ["list", "--schema", "profil"], "did you mean 'profile'.*Documents: architecture")

    def test_networks(self):
        text = self.ok("predict", "--network", "fashion_mnist", "--batch", "4", env={"COLUMNS": "132"}).out
        for needle in ("fashion_mnist on NVIDIA H200, batch 4", "one CUDA graph of ", "conv2+bias2+relu2", "twice the SMs"):
            self.assertIn(needle, text)
        document = self.ok("predict", "--network", "fashion_mnist", "--json").json()
        self.assertEqual(document["schema"], "convcast/network_run/3")
        [document] = document["cases"]
        self.assertEqual([launch["operators"][0] for launch in document["launches"]],
                         ["conv1", "pool1", "conv2", "pool2", "dense1", "dense2"])
        self.assertEqual(document["launches"][2]["operators"], ["conv2", "bias2", "relu2"])
        self.assertEqual([launch["kind"] for launch in document["launches"]][2:5], ["convolution", "pooling", "dense"])
        self.assertAlmostEqual(sum(launch["share"] for launch in document["launches"]), 1.0)
        self.ok("predict", "--network", "fashion_mnist", "--json", "-o", "a.json")
        self.ok("predict", "--network", "fashion_mnist", "--json", "-o", "b.json")
        self.assertEqual(self.files()["a.json"], self.files()["b.json"])
        chosen = self.ok("choose", "--network", "fashion_mnist", "--top", "2", "--json").json()["cases"][0]
        self.assertEqual([len(launch.get("candidates", [])) for launch in chosen["launches"]], [2, 0, 2, 0, 0, 0])
        self.assertEqual([chosen["launches"][2]["candidates"][0]], document["launches"][2]["candidates"])
        maps = {"output": [16, 510, 510]}
        self.write("one.json", json.dumps({"schema": "convcast/network/1", "id": "one", "title": "t", "citation": "c", "input": [1, 512, 512],
                                           "operators": [{"name": "a", "kind": "convolution", "outputs": 16, "window": [3, 3], **maps},
                                                         {"name": "b", "kind": "bias", **maps}, {"name": "r", "kind": "relu", **maps}]}))
        many = " ".join(self.ok("choose", "--network", "one.json", "--strategy", "patch_register", "--strategy", "implicit_gemm",
                                "--top", "2").out.split())
        self.assertIn("its kernel also does bias, addition and ReLU, and with it the network is faster", many)
        named = self.ok("choose", "--network", "fashion_mnist", "--strategy", "naive_global").out
        self.assertRegex(named, r"(?m)^  conv2\n.*\n.*naive_global")

    def test_ladders(self):
        recorded = str(RECORDED / "ladders" / "fashion_mnist_b1.json")
        text = self.ok("predict", "--network", "fashion_mnist", "--ladder").out
        for said in ("fashion_mnist on NVIDIA H200, batch 1, forecast", "one_kernel", "needs 211136 bytes of constant memory"):
            self.assertIn(said, " ".join(text.split()))
        document = self.ok("predict", "--network", "fashion_mnist", "--ladder", "--batch", "1024", "--json").json()
        self.assertEqual((document["schema"], document["profile_id"], document["cases"][0]["batch"]),
                         ("convcast/network_run/3", "h200", 1024))
        rungs = {rung["id"]: rung for rung in document["cases"]}
        self.assertEqual(rungs["constant"]["reason"], "its kernels compute one image")
        self.assertLess(rungs["batch"]["forecast"]["time_s"], rungs["one_kernel"]["forecast"]["time_s"])
        self.assertEqual([launch["kernel"] for launch in rungs["batch"]["kernels_forecast"]], ["pairs_batch", "dense_batch"])
        kepler = self.ok("predict", "--network", "fashion_mnist", "--ladder", "--gpu", "k80").out
        self.assertIn("pairs_batch does not fit an SM", " ".join(kepler.split()))
        step = self.ok("predict", "--network", "fashion_mnist", "--training", "--json").json()
        [step] = step["cases"]
        self.assertEqual((step["batch"], step["id"]), (128, "step"))
        kernels = step["kernels_forecast"]
        self.assertEqual([kernel["kernel"] for kernel in kernels],
                         ["train_forward", "train_dense_parts", "train_dense_back", "train_inputs_back", "train_filters_back",
                          "train_update"])
        self.assertLess(sum(kernel["in_graph_s"] for kernel in kernels), step["forecast"]["time_s"])
        self.refused(2, ["predict", "--network", "mnist", "--training", "--ladder"], "--ladder and --training were both given")
        self.refused(2, ["predict", "--shape", MULTI, "--training"], "--training is of a network")
        self.refused(2, ["predict", "--network", "resnet50", "--training"], "has no ladder")

        said = self.ok("report", recorded, "-o", "page").out
        self.assertIn("18 of 18 forecasts are within 10 %", said)
        page = (self.folder / "page" / "page.html").read_text()
        for part in ("Implementations of fashion_mnist, batch 1", "published, Tesla K80", "cold code"):
            self.assertIn(part, page)
        csv = (self.folder / "page" / "figures" / "ladder.csv").read_text()
        self.assertIn("one_kernel", csv)
        self.ok("report", recorded, "--figure", "ladder", "--width", "88mm", "-o", "ladder.svg")
        self.refused(2, ["report", recorded, "--figure", "error_cdf", "-o", "e.svg"], "figures with points: ladder, ladder_launches")
        self.refused(2, ["report", recorded, "--study", "chang_single"], "--study is for a run's cases")
        self.ok("predict", "--network", "alexnet", "--json", "-o", "alexnet.json")
        self.assertIn("alexnet, forecast for h200", self.ok("report", "alexnet.json", "-o", "layers").out)
        self.assertIn("network_layers", str(list((self.folder / "layers" / "figures").iterdir())))
        cut = json.loads(pathlib.Path(recorded).read_text())
        cut["cases"][0]["measured"]["time_s"] = "fast"
        self.refused(3, ["report", self.write("cut.json", cut)], r"cut.json:\d+: /cases/0/measured/time_s")
        for arguments, *message in [
            (["predict", "--ladder", "--shape", SINGLE], "--ladder is of a network"),
            (["predict", "--network", "vgg16", "--ladder"], "the network 'vgg16' has no ladder"),
            (["predict", "--network", "mnist", "--ladder", "--strategy", "winograd"], "--ladder and --strategy"),
            (["predict", "--network", "mnist", "--ladder", "--batch", "0"], "--batch"),
        ]:
            self.refused(2, arguments, *message)

    def test_training_on_several_gpus_is_forecast(self):
        text = self.ok("predict", "--network", "mnist", "--devices", "0-3", "--batch", "2048", env={"COLUMNS": "160"}).out
        for said in ("speed-up", "comp/comm", "2 2 1 1", "batch over 4 GPUs is faster than one from", "assumed: the profile h200 has no link"):
            self.assertIn(said, text)
        document = self.ok("predict", "--network", "mnist", "--devices", "0,1", "--batch", "2048,65536", "--split", "rows", "--split",
                           "batch", "--json").json()
        self.assertEqual(document["schema"], "convcast/network_run/3")
        self.assertEqual(document["devices"], [0, 1])
        one = {case["batch"]: case["forecast"]["time_s"] for case in document["cases"] if case["split"] == "one"}
        self.assertEqual(set(one), {2048, 4096, 65536, 131072})
        two = [case for case in document["cases"] if case["split"] == "batch" and case["batch"] == 65536][0]
        self.assertAlmostEqual(two["forecast"]["speed_up"], one[65536] / two["forecast"]["time_s"])
        self.assertGreater(two["forecast"]["efficiency"], 0.9)
        self.assertEqual([case["shares"] for case in document["cases"] if case["split"] == "rows"][0], [3, 3])
        for name in ("a.json", "b.json"):
            self.ok("predict", "--network", "mnist", "--devices", "0,1", "-o", name)
        self.assertEqual((self.folder / "a.json").read_bytes(), (self.folder / "b.json").read_bytes())
        profile = shipped("profiles/h200.json")
        del profile["peers"]
        self.write("alone.json", profile)
        self.assertIn("copies between GPUs were not measured: 450 GB/s one way",
                      " ".join(self.ok("predict", "--network", "mnist", "--devices", "0,1", "--gpu", "alone.json").out.split()))

    def test_bad_devices_are_refused(self):
        asked = ["--network", "mnist", "--devices", "0,1"]
        for words, *said in (
            (["predict", "--network", "mnist", "--devices", "0,x"], "0,1,2,3 or 0-3", "got 'x'"),
            (["predict", "--network", "mnist", "--devices", "0-8"], "at most 8 GPUs"),
            (["predict", "--network", "vgg16", "--devices", "0,1"], "no kernels split the network 'vgg16'"),
            (["predict", "--devices", "0,1"], "--devices is of training a network"),
            (["predict", "--network", "mnist", "--split", "rows"], "--split is of several GPUs"),
            (["predict", *asked, "--split", "row"], "did you mean 'rows'"),
            (["predict", *asked, "--batch", "2048,0"], "2048,65536"),
            (["predict", *asked, "--gpu", "toy"], "says nothing of copies between GPUs", "convcast measure"),
            (["predict", *asked, "--shape", SINGLE], "--devices and --shape"),
            (["run", *asked, "--device", "0"], "--devices and --device"),
            (["run", *asked, "--epochs", "3"], "--epochs is of training, which needs images"),
        ):
            self.refused(2, words, *said)
        self.refused(4, ["run", *asked], NO_GPU)
        infeasible = self.ok("predict", "--network", "mnist", "--devices", "0-6", "--split", "rows", "--batch", "64").out
        self.assertIn("infeasible: mnist has 6 rows of pooling windows, fewer than 7 GPUs", " ".join(infeasible.split()))

    def test_bad_ranks_and_hosts_are_refused(self):
        run, asked = ["run", "--network", "mnist"], ["predict", "--network", "mnist", "--devices", "0,1"]
        for words, *said in (
            ([*run, "--rank", "2/2"], "--rank takes a number from 0 on", "--rank 0/2"),
            ([*run, "--rank", "auto"], "none of torchrun, Open MPI and Slurm"),
            ([*run, "--meet", "node:1"], "--meet is where ranks meet"),
            ([*run, "--rank", "0/2", "--meet", "::1"], "--meet must be the host", "--meet node01:29517"),
            ([*run, "--rank", "0/2", "--devices", "0,1"], "a rank has one GPU"),
            ([*run, "--rank", "0/2", "--split", "rows"], "ranks are split by batch_nccl, not rows"),
            ([*run, "--rank", "0/2", "--epochs", "3"], "--data FOLDER"),
            ([*run, "--rank", "0/2", "--save-tensors", "x"], "--save-tensors does not go with several GPUs"),
            (["run", "--rank", "0/2", "--shape", SINGLE], "--rank is of training a network"),
            ([*asked, "--hosts", "0"], "--hosts"),
            ([*asked, "--host-link", "25e9"], "--hosts"),
            ([*asked, "--hosts", "2", "--host-link", "2..1"], "Example: --host-link 25e9..50e9"),
            ([*asked, "--hosts", "2", "--split", "rows"], "--hosts is of the split batch_nccl"),
            (["predict", "--network", "mnist", "--devices", "0,0", "--hosts", "2"], "takes every GPU once"),
            (["predict", "--network", "mnist", "--hosts", "2"], "--devices 0-7 --hosts 4"),
        ):
            self.refused(2, words, *said)

    def test_more_hosts_than_there_are_have_a_range(self):
        asked = ["predict", "--network", "mnist", "--devices", "0-7", "--hosts", "4", "--batch", "65536"]
        text = self.ok(*asked).out
        self.assertIn("mnist on 4 hosts with 8 x NVIDIA H200", text)
        self.assertRegex(text, r"batch_nccl +32 +4 +65536 ")
        widest = self.ok(*asked, "--json").json()["cases"][-1]
        self.assertEqual((widest["devices"], widest["hosts"], widest["shares"]), (32, 4, [2048] * 32))
        self.assertLess(widest["forecast"]["low_s"], widest["forecast"]["high_s"])
        self.assertIn("between hosts 12.5 to 50 GB/s", text)

    def test_bad_networks_are_refused(self):
        network = shipped("data/networks/fashion_mnist.json")
        network["operators"][4]["output"] = [64, 9, 9]
        self.refused(3, ["predict", "--network", self.write("mine.json", network)], r"mine.json:\d+: /operators/4/output", "do not chain",
                     r"expected \"output\": \[64, 8, 8\]", problems=2)
        self.refused(3, ["predict", "--network", self.write("cut.json", json.dumps(network)[:200])], "cut.json")
        self.all_refused(2, [
            (["predict", "--network", "fashion"], "unknown network", "Known: alexnet, fashion_mnist"),
            (["predict", "--network", "vgg16", "--shape", SINGLE], "--network and --shape"),
            (["predict", "--batch", "2", "--shape", SINGLE], "--batch is of a network"),
            (["predict", "--network", "vgg16", "--batch", "0"], "--batch"),
            (["choose", "--network", "vgg16", "--batch", "1000000"], "--batch"),
            (["choose", "--network", "vgg16", "--strategy", "winograd:tile=4"], "takes a strategy's name"),
            (["choose", "--network", "vgg16", "--measure", "2"], "--measure does not go with --network"),
            (["predict", "--network", "resnet18", "--strategy", "row_register"], "no strategy does"),
        ])

    def test_schedules(self):
        """What choose prints, predict and run take: as it stands, or changed."""
        text = self.ok("choose", "--network", "fashion_mnist", "--format", "schedule").out
        for network, batch in (("alexnet", 32), ("resnet18", 1)):
            asked = ["--network", network, "--batch", batch]
            [chosen] = self.ok("predict", *asked, "--json").json()["cases"]
            self.ok("choose", *asked, "--format", "schedule", "-o", "a.schedule")
            given = ["predict", "--network", network, "--schedule", "a.schedule"]
            run = self.ok(*given, "--json").json()
            [document] = run["cases"]
            time = chosen["forecast"]["time_s"]
            self.assertEqual((document["forecast"]["time_s"], document["chosen_s"]), (time, time))
            self.assertRegex(run["conditions"]["schedule"], "^given, content [0-9a-f]{32}$")
            self.assertEqual(self.ok(*given, "--format", "schedule").out, (self.folder / "a.schedule").read_text())
        # One layer by another strategy, without its fusion, and behind another stream.
        self.write("mine.schedule", text.replace("launch pool1   ", "launch pool1 stream=1 #"))
        self.assertIn("by the schedule that was given: 1.", self.ok("predict", "--network", "fashion_mnist", "--schedule", "mine.schedule").out)
        slow = re.sub(r"(launch conv2)\S+ .*", r"\1 strategy=naive_global\nlaunch bias2+relu2", text)
        document = self.ok("predict", "--network", "fashion_mnist", "--schedule", self.write("slow.schedule", slow), "--json").json()["cases"][0]
        self.assertEqual([launch["operators"] for launch in document["launches"][2:4]], [["conv2"], ["bias2", "relu2"]])
        self.assertTrue(document["launches"][2]["candidates"][0]["strategy"].startswith("naive_global"))
        self.assertGreater(document["forecast"]["time_s"], document["chosen_s"])
        self.assertEqual(len(document["what_if"]), 4)
        piped = self.ok("predict", "--network", "fashion_mnist", "--schedule", "-", stdin=text.encode()).out
        self.assertIn("1.000x the", piped)
        self.refused(4, ["run", "--network", "fashion_mnist", "--schedule", "slow.schedule"], NO_GPU)
        self.ok("predict", "--network", "fashion_mnist", "--schedule", "mine.schedule", "-o", "two.json")
        self.ok("report", "two.json", "--figure", "network_timeline", "-o", "timeline.csv")
        self.assertIn('"stream 1, forecast"', (self.folder / "timeline.csv").read_text())

        rungs = self.ok("predict", "--network", "fashion_mnist", "--ladder", "--format", "schedule").out
        self.write("rungs.schedule", "".join(line for line in rungs.splitlines(True) if "fused" not in line))
        document = self.ok("predict", "--network", "fashion_mnist", "--schedule", "rungs.schedule", "--json").json()
        self.assertEqual(len(document["cases"]), 17)
        self.refused(4, ["run", "--network", "fashion_mnist", "--schedule", "rungs.schedule"], NO_GPU)

    def test_bad_schedules_are_refused(self):
        self.write("bad.schedule", "network alexnet\nbatch 32\nlaunch conv1+relu1 strategy=implicit_gem\nlaunch cov2 layout=rows\n"
                                   "turn pool5\nlanch pool1\nrung one\n")
        self.refused(3, ["predict", "--network", "alexnet", "--schedule", "bad.schedule"],
                     r"bad\.schedule:3: strategy: unknown strategy 'implicit_gem'; did you mean 'implicit_gemm'",
                     r"bad\.schedule:3: cannot be one launch: relu1 does not read conv1",
                     r"bad\.schedule:4: layout: expected images .* or columns .*, found 'rows'; for example: layout=images",
                     r"bad\.schedule:4: no operator 'cov2' in alexnet; did you mean 'conv2'",
                     r"bad\.schedule:5: expected the layout that it is turned to, for example: turn pool5 layout=columns",
                     r"bad\.schedule:6: expected a line that begins with .*; did you mean 'launch'",
                     r"bad\.schedule:7: expected launches or implementations of a ladder", r"no line computes bias1, pool1, conv2", problems=9)
        good = self.ok("choose", "--network", "alexnet", "--format", "schedule").out
        self.write("good.schedule", good)
        self.write("binary.schedule", b"\xff\x1b[2J" * 9)
        self.refused(3, ["predict", "--network", "alexnet", "--schedule", "binary.schedule"], r"binary\.schedule:1", problems=4)
        self.refused(3, ["predict", "--network", "vgg16", "--schedule", "good.schedule"], "good.schedule:3: .* expected: network vgg16")
        self.refused(3, ["run", "--network", "alexnet", "--schedule", "no.schedule"], "no.schedule")
        self.all_refused(2, [
            (["predict", "--network", "alexnet", "--schedule", "good.schedule", "--batch", "8"], "--batch 8 and good.schedule, which is of batch 1"),
            (["predict", "--network", "alexnet", "--schedule", "good.schedule", "--strategy", "winograd"], "the schedule names strategies"),
            (["choose", "--network", "alexnet", "--schedule", "good.schedule"], "a schedule has chosen already"),
            (["predict", "--shape", SINGLE, "--schedule", "good.schedule"], "--schedule is of a network"),
            (["predict", "--shape", SINGLE, "--format", "schedule"], "--format must be one of text, json, csv, markdown"),
            (["predict", "--network", "mnist", "--devices", "0,1", "--schedule", "good.schedule"], "--devices and --schedule"),
            (["run", "--network", "mnist", "--data", ".", "--schedule", "good.schedule"], "training has a schedule of its own"),
            (["predict", "--network", "fashion_mnist", "--ladder", "--schedule", "good.schedule"], "takes a schedule that names implementations"),
            (["predict", "--network", "alexnet", "--schedule", "good.schedule", "-o", "good.schedule"], "good.schedule"),
        ])

    @unittest.skipUnless(RECORDED.is_dir(), "nothing recorded")
    def test_a_whole_networks_run_is_drawn(self):
        recorded = str(RECORDED / "networks_whole" / "alexnet_b1.json")
        self.assertRegex(self.ok("report", recorded, "-o", "page").out, "alexnet on NVIDIA H200, batch 1: 119 .s measured, 126 .s forecast")
        page = (self.folder / "page" / "page.html").read_text()
        for part in ("Timeline of alexnet, batch 1", ">forecast<", ">measured<", "medians of CUPTI", "conv2+bias2+relu2"):
            self.assertIn(part, page)
        earlier = json.loads(pathlib.Path(recorded).read_text())
        for launch in earlier["cases"][0]["launches"]:
            del launch["measured"]["begins_s"], launch["measured"]["ends_s"]
        self.ok("report", self.write("earlier.json", json.dumps(earlier)), "-o", "earlier")
        self.assertIn("does not have when it began", (self.folder / "earlier" / "page.html").read_text())
        table = (self.folder / "page" / "figures" / "network_timeline.csv").read_text()
        rows = list(csv.DictReader(io.StringIO(table)))
        measured = [row for row in rows if ", measured: " in row["label"]]
        [whole] = json.loads(pathlib.Path(recorded).read_text())["cases"]
        launches = whole["launches"]
        self.assertEqual(len(rows), 3 * len(launches), "forecast, measured, and how far apart these are")
        end = max(float(row["x (time since the start of the call, \u00b5s)"]) for row in measured)
        self.assertAlmostEqual(end, 1e6 * whole["measured"]["time_s"], 3)  # untraced
        self.refused(2, ["report", recorded, "--figure", "ladder", "-o", "e.svg"], "figures with points: network_timeline")

    @unittest.skipUnless(RECORDED.is_dir(), "nothing recorded")
    def test_documents_of_networks_are_held_to_what_can_be(self):

        def changed(folder, name, change):
            document = json.loads((RECORDED / folder / name).read_text())
            change(document)
            return self.write("changed.json", document)

        for change, place in ((lambda c: c["measured"].update(time_s=0), "/measured/time_s"),
                              (lambda c: c["measured"].update(time_s=1e-300), "/measured/time_s"),
                              (lambda c: c.update(output_error=1e9), "/output_error"),
                              (lambda c: c.update(batch=0), "/batch"), (lambda c: c["forecast"].update(time_s=0), "/forecast/time_s")):
            result = self.answered(3, "report", changed("networks_whole", "alexnet_b1.json", lambda d: change(d["cases"][0])), out="")
            self.assertRegex(result.err, r"changed\.json:[0-9]+: /cases/0" + place + ": expected")
        self.refused(3, ["report", changed("ladders", "fashion_mnist_b1.json", lambda d: d.update(network="fashion_mnits"))],
                     r"changed\.json:[0-9]+: /network: expected a network that has a ladder", "did you mean 'fashion_mnist'")
        foreign = self.answered(0, "report", changed("ladders", "fashion_mnist_b1.json", lambda d: d["cases"][1].update(id="constnat")))
        self.assert_sentence(foreign.err, 'the ladder of fashion_mnist has no implementation "constnat"; did you mean', "without a forecast")
        own = self.answered(0, "report", changed("networks_whole", "alexnet_b1.json", lambda d: d.update(network="alexnte")))
        self.assert_sentence(own.err, "no network \"alexnte\" ships; did you mean 'alexnet'")

    def test_a_network_passes_nothing_over(self):
        itself = self.ok("predict", "--network", "alexnet", "--json").json()["cases"][0]["forecast"]["time_s"]
        double = ["--set", "dram_read_bandwidth=x2", "--set", "dram_write_bandwidth=x2"]
        self.assertLess(self.ok("predict", "--network", "alexnet", "--json", *double).json()["cases"][0]["forecast"]["time_s"], 0.9 * itself)
        self.assertRegex(self.ok("predict", "--network", "alexnet", *double).out, r"(?s)h200 .*dram_read_bandwidth=x2.*-\d+\.\d %")
        self.assertRegex(self.ok("predict", "--network", "alexnet", "--sms", "32,132").out, r"(?s)h200, 32 SMs .*h200, 132 SMs .*-\d")
        self.all_refused(2, [
            (["predict", "--network", "alexnet", "--set", "nonsense=x2"], "no number 'nonsense'"),
            (["predict", "--network", "alexnet", "--explain"], "--explain does not go with --network.*--shape n1c3h224"),
            (["predict", "--network", "alexnet", "--recorded", "no.json"], "--recorded does not go with --network"),
            (["choose", "--network", "alexnet", "--why"], "--why does not go with --network"),
            (["choose", "--network", "alexnet", "--sms", "32,64"], "predict --network. sets several side by side"),
            (["predict", "--network", "alexnet", "--sms", "32,64", "--json"], "ask once for each"),
            (["run", "--network", "alexnet", "--no-baselines"], "--no-baselines does not go with --network"),
            (["predict", "--network", "fashion_mnist", "--ladder", "--rules"], "--rules were both given|--rules does not go"),
        ])

    def test_running_networks(self):
        self.refused(4, ["run", "--network", "fashion_mnist"], NO_GPU)
        self.refused(4, ["run", "--network", "alexnet", "--batch", "2"], NO_GPU)
        lossy = shipped("data/networks/mnist.json")
        lossy["id"], lossy["operators"][-1]["name"] = "lossy", "error"
        self.refused(4, ["run", "--network", self.write("loss.json", lossy)], NO_GPU)  # without its loss, which is of training
        self.all_refused(2, [
            (["run", "--network", "vgg16", "--data", "."], "'vgg16' has no ladder"),
            (["run", "--network", "vgg16", "--batch", "1000000"], "--batch"),
            (["run", "--network", "vgg16", "--timeline"], "--network and --timeline"),
            (["run", "--network", "resnet18", "--strategy", "row_register"], "no strategy does"),
            (["run", "--network", "mnist", "--strategy", "winograd"], "the ladder of mnist already says"),
            (["run", "--network", "mnist", "--shape", SINGLE], "--network and --shape"),
            (["run", "--network", "mnist", "--epochs", "5"], "--epochs is of training, which needs images"),
            (["run", "--network", "mnist", "--data", ".", "--rate", "0"], "--rate takes a number above 0"),
            (["run", "--network", "mnist", "--data", ".", "--epochs", "0"], "--epochs"),
            (["run", "--network", "mnist", "--data", ".", "--momentum", "1"], "--momentum takes a number from 0 and below 1"),
            (["run", "--network", "mnist", "--data", ".", "--decay", "x"], "--decay takes a number", "0.0005"),
            (["run", "--network", "mnist", "--data", ".", "--hold-out", "0"], "--hold-out must be an integer from 1"),
            (["run", "--network", "mnist", "--data", "generated", "--hold-out", "4096"],
             "--hold-out 4096 leaves none of the 4096 images"),
            (["run", "--network", "mnist", "--hold-out", "5"], "--hold-out is of training, which needs images"),
            (["run", "--network", "mnist", "--data", ".", "--from", "nowhere"], "no weights 'nowhere'"),
            (["run", "--shape", SINGLE, "--data", "."], "--data is of training a network"),
        ])
        self.refused(4, ["run", "--network", "fashion_mnist", "--data", "generated", "--epochs", "1"], NO_GPU)
        self.refused(3, ["run", "--network", "mnist", "--data", "."], "train-images-idx3-ubyte")
        self.write("train-images-idx3-ubyte", b"\0\0\x08\x03" + b"\0\0\0\x02\0\0\0\x1c\0\0\0\x1c" + bytes(2 * 784))
        self.write("train-labels-idx1-ubyte.gz", gzip.compress(b"\0\0\x08\x01" + b"\0\0\0\x02\x07\x0a"))
        self.refused(3, ["run", "--network", "mnist", "--data", "."], "train-labels-idx1-ubyte.gz", "label 1 is 10, expected 0 to 9")

    def test_images_that_are_none_of_the_networks(self):
        self.write("train-labels-idx1-ubyte", b"\0\0\x08\x01" + b"\0\0\0\x01\x07")
        os.mkfifo(self.folder / "train-images-idx3-ubyte")
        training = [BINARY, "run", "--network", "mnist", "--data", "."]
        done = subprocess.run(training, cwd=self.folder, env=self.environment(), capture_output=True, timeout=10)
        self.assertEqual(done.returncode, 3)
        self.assert_sentence(done.stderr.decode(), "train-images-idx3-ubyte: is no regular file")
        (self.folder / "train-images-idx3-ubyte").unlink()
        for name in ("train", "t10k"):
            self.write(name + "-images-idx3-ubyte", b"\0\0\x08\x03" + b"\0\0\0\x01\0\0\0\x0e\0\0\0\x38" + bytes(784))
            self.write(name + "-labels-idx1-ubyte", b"\0\0\x08\x01" + b"\0\0\0\x01\x07")
        self.refused(3, ["run", "--network", "mnist", "--data", "."], "are 1 x 14 x 56; mnist takes 1 x 28 x 28")
        (self.folder / "train-images-idx3-ubyte").unlink()
        bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
        self.write("train-images-idx3-ubyte.gz", b"".join(bomb.compress(bytes(1 << 20)) for _ in range(513)) + bomb.flush())
        result = self.refused(3, ["run", "--network", "mnist", "--data", "."], "unpacks to more than 512 MiB")
        self.assertNotIn("document", result.err)

    def test_canonical_strategies_are_accepted(self):
        for case in self.ok("choose", "--gpu", "toy", "--shape", SINGLE, "--json", "--top", "20").json()["cases"]:
            again = self.predict("toy", SINGLE, case["strategy"])["cases"][0]
            case["prediction"].pop("tied_s", None)  # which needs a ranking
            self.assertEqual(again, case)


# ---- explain ----

class Explain(Cli):
    def names(self):
        return {name for one in self.ok("explain", "--json").json() for name in one["names"]}

    def test_one_of_each_kind(self):
        Golden.golden(self, "explain", self.ok("explain", "dram_read_bandwidth", "issue slots", "bulk_hidden", "n_fma", "F2", "c_F",
                                       "chang:figure_4", "vgg16_b1", "filter_split", "pieces", "cudnn:graph", "gate").out)

    def test_a_name_in_another_spelling(self):
        for other in ("DRAM_READ_BANDWIDTH", "dram-read-bandwidth", "dram read bandwidth", "dram_read_ban", "m_read_bandwidth"):
            self.assertEqual(self.ok("explain", other, "--json").json(), self.ok("explain", "dram_read_bandwidth", "--json").json())
        self.assertNotEqual(self.ok("explain", "R", "--json").json(), self.ok("explain", "r", "--json").json())

    def test_every_number_of_a_profile(self):
        profile = shipped("profiles/h200.json")
        self.assertEqual({*profile, *profile["limits"]} - self.names() - {"peers"}, set())
        self.ok("explain", "peers")

    def test_every_term_rule_count_and_time_of_a_forecast(self):
        said, missing = self.names(), set()

        def look(term, kernels):
            if term["name"] not in said | kernels:
                missing.add(term["name"])
            for child in term.get("children", []):
                look(child, kernels)

        for gpu, shapes in (("h200", RANKED_SHAPES), ("gtx1080ti", ("n1c1h28w28k512r3s3", MULTI))):
            words = [word for shape in shapes for word in ("--shape", shape)]
            for case in self.ok("predict", "--gpu", gpu, *words, "--json", timeout=300).json()["cases"]:
                forecast = case.get("prediction", {})
                missing |= {*forecast.get("rules", {}), *forecast.get("work", {}), *forecast.get("times", {})} - said
                missing |= {value for value in forecast.get("regimes", {}).values() if isinstance(value, str)} - said
                if "term" in forecast:
                    plan = forecast["plan"]
                    look(forecast["term"], {launch["kernel"] for launch in plan["launches"] + plan.get("prepare", [])})
        self.assertEqual(missing, set(), "docs/case.md lacks these names")

    def test_every_member_and_counter_of_a_measurement(self):
        measurements = [one for case in recording("chang.json.gz")["cases"] for one in case.get("measurements", [])]
        counters = {name for one in measurements for name in one.get("counters", {})}
        self.assertGreater(len(counters), 30)
        for word in {name for one in measurements for name in one} | counters:
            found = self.ok("explain", word, "--json").json()
            self.assertIn("docs/case.md, ", " ".join(one["from"] for one in found), word)

    def test_every_strategy_knob_and_baseline(self):
        listing = self.ok("list", "--json").json()
        said = self.names()
        for strategy in listing["strategies"]:
            self.assertLessEqual({strategy["name"], *(knob["name"] for knob in strategy["knobs"])}, said)
        self.assertLessEqual({*listing["studies"], *listing["gpus"]}, said)

    def test_no_page_is_printed_with_its_marks(self):
        for one in self.ok("explain", "--json").json():
            for text in (one["text"], *one["names"], *(fact["text"] for fact in one.get("facts", []))):
                self.assertNotRegex(text, r"`|\*\*|\]\(", one["names"])
            self.assertTrue(one.get("facts") or one["text"], one["names"])

    def test_numbers_of_a_gpu(self):
        """Chang prints N_FMA and V_s of the GTX 1080 Ti."""
        for word, value in (("N_FMA", "66,048"), ("n_fma", "66,048"), ("V_s", "86,016"), ("v_s_bytes", "86,016"), ("sm_count", "28")):
            text = self.ok("explain", word, "--gpu", "gtx1080ti").out
            self.assertRegex(text, rf"(?s)on NVIDIA GeForce GTX 1080 Ti\s+{value},", word)
            self.assertNotIn("add --gpu", text)
        self.assertRegex(self.ok("explain", "V_s").out, "bytes in flight, of the whole GPU, that hide the latency")
        profile = shipped("profiles/h200.json")
        text = self.ok("explain", "launch floor").out
        self.assertRegex(text, rf"on NVIDIA H200 +{profile['launch_floor']['value'] * 1e9:.4g} ns, from [\d.]+ ns to [\d.]+ ns, measured")
        self.assertIn("For another GPU add --gpu", text)
        self.assertIn("absent", self.ok("explain", "tf32_mma_rate", "--gpu", "gtx1080ti").out)
        said = self.ok("explain", "n_fma", "--gpu", "gtx1080ti", "--json").json()[0]["facts"]
        self.assertEqual(said[-1]["what"], "on NVIDIA GeForce GTX 1080 Ti")
        self.assertNotIn(" on NVIDIA", self.ok("explain", "exposed").out)
        profile["launch_floor"]["value"] *= 2
        for part in ("interval", "spread"):
            profile["launch_floor"][part] = {k: v if k == "n" else 2 * v for k, v in profile["launch_floor"][part].items()}
        self.write("mine.json", profile)
        self.assertIn(f"{profile['launch_floor']['value'] * 1e6:.4g} us", self.ok("explain", "launch_floor", "--gpu", "mine.json").out)

    def test_without_a_name(self):
        text = self.ok("explain").out
        self.assertLess(len(text.splitlines()), 60)
        for said in ("docs/profile.md", "docs/case.md", "a strategy", "convcast explain all"):
            self.assertIn(said, text)

    def test_all_names(self):
        text = self.ok("explain", "all").out
        for name in ("dram_read_bandwidth", "bulk_hidden", "issue slots", "winograd", "chang:figure_4"):
            self.assertIn(name, text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 200)

    def test_the_sentence_of_a_regime_fits_its_shares(self):
        """Each share stands on its side of the threshold that is named with it."""
        calls = ("--shape n1c1h56w56k256r3s3 --strategy filter_split", "--shape n1c64h56w56k64r3s3 --strategy winograd",
                 "--shape n32c256h56w56k64r1s1 --strategy implicit_gemm", "--shape n32c64h56w56k64r3s3_pad1x1 --strategy naive_global",
                 "--shape n64c3h224w224k64r3s3_pad1x1 --strategy winograd", "--shape n32c64h112w112k64r3s3_pad1x1 --strategy winograd",
                 "--shape n32c64h112w112k64r3s3_g64 --strategy naive_global", "--shape n64c1h224w224k32r1s1 --strategy patch_register")
        seen, said = set(), set()
        for call in calls:
            text = " ".join(self.ok("predict", *call.split()).out.split())
            regime, sentence = re.search(r" regime ([\w ]+): (.*?); \d[\d,]* CTAs", text).groups()
            seen.add(regime)
            shares = {name: float(share) for name, share in re.findall(r"(FMA pipes|issue slots|DRAM|L2) ([\d.]+) %", sentence)}
            self.assertEqual(set(shares), {"FMA pipes", "issue slots", "DRAM", "L2"}, text)
            for names, side, least in re.findall(r"((?:(?:FMA pipes|issue slots|DRAM|L2) [\d.]+ %(?: and )?)+) busy, (less than|\d+ % or more)(?: (\d+) %)?",
                                                 sentence):
                threshold = float(least or side.split()[0])
                for name, share in re.findall(r"(FMA pipes|issue slots|DRAM|L2) ([\d.]+) %", names):
                    said.add(side.split()[-1])
                    self.assertEqual(threshold, 60 if name in ("FMA pipes", "issue slots") else 70, text)
                    (self.assertLess if side == "less than" else self.assertGreaterEqual)(float(share), threshold, text)
            for name, share in re.findall(r"(FMA pipes|issue slots|DRAM|L2) ([\d.]+) %", " ".join(re.findall(r"\((.*?)\)", sentence))):
                self.assertLess(float(share), 60 if name in ("FMA pipes", "issue slots") else 70, text)
        self.assertLessEqual({"compute bound", "exposed"}, seen)
        self.assertEqual(said, {"than", "more"})

    def test_words_of_answers(self):
        for words, says in (("1 wave", "resident"), ("unsure", "too wide"), ("lacking", "is not there"),
                            ("mean error", "over measured from 1"), ("FMAs per byte", "multiply-adds"), ("own", "--kernel"),
                            ("elsewhere", "--time"), ("infeasible", "does not fit"), ("ladder", "step"), ("columns", "side by side"),
                            ("layout", "memory"), ("weak scaling", "batch"), ("batch_nccl", "NCCL"), ("rung", "implementations"), ("memory bound", "memory is busy"), ("dependent launch", "programmatic"), ("/ bound", "speed of light")):
            text = self.ok("explain", words).out
            self.assertIn(says, " ".join(text.split()), words)
            self.assertNotRegex(text, r"(?m)^\s*\|", words)
        self.assertIn("neither arithmetic nor memory", self.ok("explain", "exposed").out)

    def test_unclear_and_unknown_names(self):
        self.all_refused(2, [
            (["explain", "dram_r"], "'dram_r' is part of several names: dram_read_bandwidth, dram_read_curve"),
            (["explain", "launch_flour"], "nothing is named 'launch_flour'", "did you mean 'launch_floor'"),
            (["explain", ""], "nothing is named ''"),
            (["explain", "x" * 500], "nothing is named 'xxx"),
            (["explain", "a\x1b[31mb"], "nothing is named"),
            (["explain", "--study", "toy"], "unknown option '--study'"),
        ])


# ---- bad command lines: 2 ----

class Usage(Cli):
    def test_no_verb(self):
        result = self.answered(2, out="")
        self.assertRegex(result.err, r"^convcast: no verb given\n")
        self.assertIn(self.ok("--help").out, result.err)

    def test_verbs_and_options(self):
        self.all_refused(2, [
            (["frobnicate"], "unknown verb 'frobnicate'", "predict"),
            (["pred"], "unknown verb 'pred'", r"did you mean 'predict'\?"),
            (["predct"], "unknown verb 'predct'", r"did you mean 'predict'\?"),
            (["PREDICT"], "unknown verb 'PREDICT'"),
            ([""], "unknown verb ''"),
            (["-x"], "unknown"),
            (["predict", "--shap", SINGLE], "unknown option '--shap'", "did you mean '(--)?shape'"),
            (["predict", "--jso", "--shape", SINGLE], "unknown option '--jso'", "did you mean '(--)?json'"),
            (["predict", "--gpuu", "toy"], "unknown option '--gpuu'", "did you mean '(--)?gpu'"),
            (["predict", "--frobnicate"], "unknown option '--frobnicate'", "--shape"),
            (["predict", "-x"], "unknown option '-x'"),
            (["doctor", "--gpu", "toy"], "unknown option '--gpu'"),
            (["list", "stray"], "no kind 'stray'"),
            (["predict", "stray", "--shape", SINGLE], "--shape were both given", "already says what to predict"),
            (["predict", "-", "--shape", SINGLE], "--shape were both given"),
            (["report", "a", "b"], "unexpected word 'b'"),
            (["predict", "--shape"], "--shape", "needs a value", "--help"),
            (["predict", "--json=1", "--shape", SINGLE], "--json"),
            (["run", "--gpu", "toy", "--gpu", "k40m", "--shape", SINGLE], "gpu", "more than once"),
            (["predict"], "no shape", "--shape n1c", "--study"),
            (["choose"], "no shape", "--shape n1c"),
            (["run"], "no shape", "--shape n1c"),
            (["report"], "no Run document or profile", "convcast report"),
        ])

    def test_names(self):
        shape = ["--shape", SINGLE]
        self.all_refused(2, [
            (["predict", "--gpu", "h20", *shape], "unknown GPU 'h20'", "did you mean 'h200'", "gtx1080ti", r"--gpu my_gpu\.json"),
            (["predict", "--gpu", "1080ti", *shape], "unknown GPU '1080ti'", r"did you mean 'gtx1080ti'\?"),
            (["predict", "--gpu", "a100", *shape], "unknown GPU 'a100'. Known: "),
            (["predict", "--gpu", "Tesla K40", *shape], r"did you mean 'k40m'\?"),
            (["predict", "--study", "resnet50"], r"did you mean 'resnet50_b1' or 'resnet50_b32'\?"),
            (["predict", "--gpu", "zzzzzzz", *shape], "unknown GPU 'zzzzzzz'", "gtx1080ti"),
            (["predict", "--study", "chang_singl"], "unknown study 'chang_singl'", "did you mean 'chang_single'"),
            (["predict", "--strategy", "filtr_split", *shape], "unknown strategy 'filtr_split'", "did you mean 'filter_split'",
             "Example: "),
            (["predict", "--strategy", "", *shape], "unknown strategy ''"),
            (["predict", "--strategy", "filter_split:piece=3", *shape], "no knob 'piece'", "did you mean 'pieces'"),
            (["predict", "--strategy", "filter_split:pieces=1,pieces=2", *shape], "'pieces' stands twice"),
            (["predict", "--strategy", "cudnn:gem", *shape], "unknown baseline 'cudnn:gem'", "did you mean 'cudnn:gemm'"),
            (["run", "--strategy", "cudnn:gem", *shape], "unknown baseline"),
            (["measure", "--only", "sm_clok"], "unknown probe 'sm_clok'", "did you mean 'sm_clock'"),
            (["choose", "--strategy", "filter_split:pieces=2", *shape], "knobs", "filter_split:pieces=2"),
            (["choose", "--strategy", "cudnn", *shape], "'cudnn'"),
            (["choose", "--place", "filtr_split", *shape], "unknown strategy 'filtr_split'", "did you mean 'filter_split'"),
            (["choose", "--gpu", "k40m", "--assume", "launch_flor=1e-6", *shape], "no number 'launch_flor'",
             "did you mean 'launch_floor'"),
            (["choose", "--gpu", "k40m", "--assume", "launch_floor=2", *shape], "launch_floor: expected a number from .* in s", "'2'"),
            (["choose", "--gpu", "k40m", "--assume", "launch_floor", *shape], "launch_floor: expected a number", "''"),
            (["choose", "--gpu", "h200", "--assume", "launch_floor=1e-6", *shape], "the profile h200 has it"),
            (["choose", "--top", "3", "--measure", "3", *shape], "--measure K shows the K", "--top"),
            (["choose", "--device", "1", *shape], "--device", "--measure"),
            (["choose", SINGLE], f"choose --shape {SINGLE}"),
        ])

    def test_knobs_and_numbers(self):
        shape = ["--shape", SINGLE]
        self.all_refused(2, [
            *((["predict", "--strategy", "filter_split:pieces=" + value, *shape],
               "pieces must be an integer from 0 to [0-9]+", f"'{value}'") for value in ("-3", "abc", "1.5", "99999999999", "65537", "")),
            *((["choose", "--top", value, *shape], "--top must be an integer from 1 to", f"'{value}'")
              for value in ("0", "abc", "-1", "1e3", "99999999999999999999", "")),
            *((["choose", "--measure", value, *shape], "--measure must be an integer from 1 to", f"'{value}'") for value in ("0", "x", "")),
            (["run", "--device", "x", *shape], "--device must be an integer"),
            (["run", "--choose", "-1", *shape], "--choose must be an integer"),
        ])

    def test_shapes(self):
        example = "Example: n1c64h56w56k64r3s3"
        self.all_refused(2, [(["predict", "--shape", text], re.escape(f"'{text}'"), needle, example) for text, needle in (
            ("", "expected 'n'"),
            ("1x1x28x28", "expected 'n' at '1x1x28x28'"),
            ("N1C1H28W28K8R3", "expected 's'"),
            ("n1c1", "expected 'h'"),
            ("c1n1h28w28k8r3s3", "expected 'n'"),
            ("n1c1h28w28k8r3", "expected 's'"),
            ("n-1c1h28w28k8r3s3", "expected a number for n"),
            ("n1.5c1h28w28k8r3s3", "expected 'c'"),
            ("n0c1h28w28k8r3s3", "at least 1"),
            ("n1c1h28w28k8r3s3x", "unexpected 'x'"),
            ("n1c1h28w28k8r3s3 ", "unexpected ' '"),
            ("n1c1h28w28k8r3s3_foo", "unexpected '_foo'"),
            ("n1c1h28w28k8r3s3_str0x1", "at least 1"),
            ("n1c1h28w28k8r3s3_pad-1x1", "expected a number for pad"),
            ("n1c1h28w28k8r3s3_pad1x1_pad1x1", "stands twice"),
            ("n1c3h28w28k8r3s3_g2", "groups must divide"),
            ("n1c1h2w2k8r3s3", "filter .* larger than the padded input"),
            ("n1c1h99999999999999999999w28k8r3s3", "too large"),
            ("n100000c100000h100000w100000k100000r3s3", "2\\^62 bytes"),
            ("n2147483647c2147483647h2147483647w2147483647k2147483647r1s1", "2\\^62 bytes"),
        )])

    def test_huge_but_sound_shapes_end_at_once(self):
        for shape in ("n1c1048576h1048576w1024k512r1s1", "n1c1h2147483647w1k1r1s1", "n1c1h1w1k2147483647r1s1"):
            result = self.cli("choose", "--shape", shape, timeout=20)
            self.assertIn(result.code, (0, 1))  # 1: no strategy does it
            self.assertNotRegex(result.out, r"\b(nan|inf)\b| -\d")

    def test_document_and_question_at_once(self):
        self.write("run.json", self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out)
        for option in (["--shape", SINGLE], ["--study", "chang_single"], ["--strategy", "filter_split"], ["--choose", "2"]):
            self.refused(2, ["run", "run.json", *option], option[0])

    def test_words_after_help_are_not_ignored(self):
        self.refused(2, ["help", "nothing"], "'nothing'")

    def test_the_programs_name_stands_once(self):
        self.assertNotIn("convcast: convcast", self.cli("predict").err)

    def test_a_name_unlike_any_other_ends_its_part_of_the_sentence(self):
        self.assertRegex(self.cli("frobnicate").err, r"'frobnicate'[;.,:]")

    def test_an_empty_output_name(self):
        self.write("run.json", self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out)
        self.refused(2, ["report", "run.json", "-o", ""], "-(-output|o)")

    def test_a_shape_that_no_strategy_does_is_said(self):
        shape = "n4c64h56w56k64r3s3_str2x2_f16"
        for verb in ("predict", "choose"):
            result = self.answered(1, verb, "--gpu", "toy", "--shape", shape)
            self.assertIn("only FP32", result.out)
            self.assert_sentence(result.err, "note: " + shape + ": no strategy does this")

    def test_a_document_always_has_its_cases(self):
        shape = "n4c64h56w56k64r3s3_str2x2_pad1x1"
        self.assertIn("cases", self.ok("predict", "--gpu", "toy", "--shape", shape, "--json").json())

    def test_the_margins_in_the_document_add_up(self):
        cases = self.ok("choose", "--shape", "n1c128h28w28k128r3s3", "--top", "3", "--why", "--json").json()["cases"]
        best = cases[0]
        self.assertNotIn("margin", best["prediction"])
        names = [c["strategy"].split(":")[0] for c in cases]
        self.assertEqual(len(names[3:]), len(set(names) - set(names[:3])), "the best of every further strategy")
        for case in cases[1:]:
            margin = case["prediction"]["margin"]
            difference = case["prediction"]["time_s"] - best["prediction"]["time_s"]
            self.assertAlmostEqual(sum(t["here_s"] - t["there_s"] for t in margin["terms"]), difference, delta=1e-12)
            self.assertAlmostEqual(margin["factor"], case["prediction"]["time_s"] / best["prediction"]["time_s"])
            self.assertEqual(margin["best"], best["strategy"])
            self.assertIn(margin["decides"], [t["name"] for t in margin["terms"]])
        ranks = [case["prediction"]["margin"]["rank"] for case in cases[1:]]
        self.assertEqual(ranks, sorted(set(ranks)))
        self.assertEqual(ranks[:2], [2, 3])
        run = self.ok("choose", "--shape", "n1c128h28w28k128r3s3", "--top", "3", "--why", "--json")
        self.ok("predict", "-", stdin=run.out.encode())

    def test_choose_says_why_it_has_no_times(self):
        lacking = shipped("profiles/gtx1080ti.json")
        del lacking["launch_floor"]
        self.refused(3, ["choose", "--gpu", self.write("lacking.json", lacking), "--shape", SINGLE], "gtx1080ti lacks launch_floor",
                     "does not run on compute capability 6.1", "--assume launch_floor=5e-6")
        self.refused(3, ["run", "--gpu", "lacking.json", "--shape", SINGLE, "--choose", "3"], "launch_floor", "--assume launch_floor")
        newer = shipped("profiles/h200.json")
        del newer["launch_floor"]
        self.refused(3, ["choose", "--gpu", self.write("newer.json", newer), "--shape", SINGLE], "launch_floor", "`convcast measure` finds it")

    def test_a_missing_number_is_assumed_by_every_verb_that_forecasts(self):
        words = ["--gpu", "gtx1080ti", "--assume", "launch_floor=5e-6", "--shape", SINGLE]
        for verb in ("predict", "choose"):
            answer = self.ok(verb, *words)
            self.assertIn("launch_floor 5.000 us: assumed, not known of this GPU", answer.out)
            for case in self.ok(verb, *words, "--json").json()["cases"]:
                if case["status"] == "ok":
                    self.assertGreater(case["prediction"]["time_s"], 5e-6)
                    self.assertTrue(any("launch_floor" in said for said in case["prediction"]["assumptions"]), case["strategy"])
        self.refused(4, ["run", *words], NO_GPU)
        run = self.ok("choose", *words, "--json").out_bytes
        self.refused(2, ["predict", "-"], "with the --assume it was made with", stdin=run)
        again = self.ok("predict", "-", "--assume", "launch_floor=5e-6", stdin=run).json()
        self.assertEqual([c["prediction"]["time_s"] for c in again["cases"]], [c["prediction"]["time_s"] for c in json.loads(run)["cases"]])

    def test_each_gpu_known_from_print_has_a_time_with_its_range(self):
        for gpu in ("gtx1080ti", "titanx_maxwell", "k40m", "k80", "gt750m", "h100_print"):
            for verb in ("predict", "choose"):
                for case in self.ok(verb, "--gpu", gpu, "--shape", SINGLE, "--shape", MULTI, "--json").json()["cases"]:
                    p = case.get("prediction")
                    if p and "time_s" in p:
                        self.assertLess(p["assumed_low_s"], p["time_s"], case["strategy"])
                        self.assertGreater(p["assumed_high_s"], p["time_s"], case["strategy"])
                        self.assertTrue(any(said.startswith("launch_floor") and "assumed" in said for said in p["assumptions"]))
            text = self.ok("predict", "--gpu", gpu, "--shape", MULTI, "--strategy", "block_register").out
            self.assertRegex(text, r"[\d.]+ [mu]s\s+to\s+[\d.]+\s+[mu]s\s+as\s+the\s+numbers\s+that\s+were\s+assumed")

    def test_a_shape_that_the_asked_strategy_cannot_do(self):
        for shape, strategy, needle in ((MULTI, "filter_split", "c = 1"), (SINGLE, "stride_fixed_block", "multi-channel"),
                                        (MULTI + "_pad1x1_str2x2", "stride_fixed_block", "stride 1")):
            words = ["predict", "--gpu", "toy", "--shape", shape, "--strategy", strategy]
            self.assertRegex(self.names_no_plan(*words).out, "unsupported: .*" + needle)
            case = self.names_no_plan(*words, "--json").json()["cases"][0]
            self.assertEqual(case["status"], "unsupported")
            self.assertRegex(case["reason"], needle)
        infeasible = self.names_no_plan("predict", "--gpu", "toy", "--shape", MULTI, "--json", "--strategy",
                                        "stride_fixed_block:segment_bytes=48").json()["cases"][0]
        self.assertEqual(infeasible["status"], "infeasible")
        self.assertGreater(len(infeasible["reason"]), 10)

    def names_no_plan(self, *words):
        """What --strategy names gives nothing for a shape: the answer stands, the reason and exit code 1 too."""
        result = self.answered(1, *words)
        if "--json" in words or "-o" in words:  # which other answers show
            self.assert_sentence(result.err, "^convcast: note: n1c.* is (unsupported|infeasible): .{10}")
        else:
            self.assertEqual(result.err, "")
            self.assertRegex(result.out, "unsupported|infeasible")
        return result

    def test_a_named_strategy_that_does_only_some_shapes(self):
        both = ["--gpu", "toy", "--shape", SINGLE, "--shape", MULTI]
        for verb in ("predict", "choose"):
            for more in ([], ["--json"], ["-o", verb + ".json"]):
                result = self.names_no_plan(verb, *both, "--strategy", "filter_split", "--strategy", "naive_global", *more)
                if more:
                    self.assertIn(MULTI + ": filter_split is unsupported", result.err)
            self.ok(verb, *both)  # nobody named it
            self.ok(verb, *both, "--strategy", "naive_global")


class GivenKnowledge(Cli):
    """--facts and --calibration: what a forecast is made with, and what it says of it."""

    FACTS, CALIBRATION = SOURCE / "data" / "facts" / "sm_90.json", SOURCE / "data" / "calibration" / "h200.json"
    WORDS = ["--shape", MULTI, "--strategy", "block_register"]

    def prediction(self, *words):
        run = self.ok("predict", *self.WORDS, *words, "--json").json()
        return run["conditions"], run["cases"][0]["prediction"]

    def test_what_ships_may_be_given_as_files(self):
        shipped = self.ok("predict", *self.WORDS, "--json").out_bytes
        self.assertEqual(self.ok("predict", *self.WORDS, "--facts", self.FACTS, "--calibration", self.CALIBRATION, "--json").out_bytes,
                         shipped)

    def test_none(self):
        conditions, shipped = self.prediction()
        self.assertRegex(conditions["facts"], "^sm_90, content [0-9a-f]{32}$")
        self.assertRegex(conditions["calibration"], "^NVIDIA H200, content [0-9a-f]{32}$")
        conditions, bare = self.prediction("--facts", "none", "--calibration", "none")
        self.assertEqual(conditions, {"facts": "none: without counters", "calibration": "none"})
        self.assertNotIn("fitted_s", bare["times"])
        self.assertNotEqual(bare["times"]["tier2_s"], shipped["times"]["tier2_s"])
        text = self.ok("predict", *self.WORDS, "--facts", "none", "--calibration", "none").out
        errors = json.loads(self.CALIBRATION.read_text())["test"]
        self.assertIn("forecasts without counters, as asked", text)
        self.assertIn(f"{100 * errors['without_counters']:.1f} %", text)
        self.assertIn(f"{100 * errors['fitted']:.1f} %", text)

    def test_every_verb_that_forecasts_takes_them(self):
        given = ["--facts", "none", "--calibration", "none"]
        document = self.ok("choose", "--shape", MULTI, "--top", "1", *given, "--json").out_bytes
        self.assertEqual(json.loads(document)["conditions"]["facts"], "none: without counters")
        self.refused(4, ["run", *self.WORDS, *given], NO_GPU)
        forecast = self.ok("predict", *self.WORDS, "--json").json()
        for case in forecast["cases"]:
            case["measurements"] = [{"time_s": 1e-4, "samples_s": [1e-4], "l2": "cold", "method": "events", "stop_reason": "count"}]
            del case["prediction"]
        measured = self.write("measured.json", forecast)
        self.ok("report", measured, *given, "-o", "page")
        page = (self.folder / "page" / "page.html").read_text()
        self.assertIn("none: without counters", page)
        self.assertIn("forecasts without counters, as asked", page)
        again = self.ok("predict", measured, *given).json()
        self.assertEqual(again["conditions"]["facts"], "none: without counters")
        report = self.ok("report", self.write("again.json", again), *given, "--json").json()
        self.assertEqual({t["model"] for t in report["accuracy"]["times"]} & {"probes and counters", "probes alone"}, {"probes alone"})
        self.assertEqual({r["model"] for r in report["accuracy"].get("rankings", [])} & {"probes and counters"}, set())
        counted = self.ok("report", "again.json", "--calibration", "none", "--json").json()
        self.assertIn("probes and counters", {t["model"] for t in counted["accuracy"]["times"]})
        self.assertNotEqual([c["predicted_s"] for c in counted["cases"]], [c["predicted_s"] for c in report["cases"]])
        self.write("forecast.json", forecast)
        for case in forecast["cases"]:
            del case["measurements"]
        self.refused(2, ["report", self.write("unmeasured.json", forecast), *given], "no measured case", "predict unmeasured.json")
        self.refused(2, ["report", "h200", "--facts", "none"], "--facts is for a run's cases")

    def test_another_gpu_borrows_what_it_is_told_to(self):
        words = ["--gpu", "toy", "--facts", self.FACTS, "--calibration", self.CALIBRATION]
        conditions, borrowed = self.prediction(*words)
        self.assertRegex(conditions["facts"], "^sm_90")
        said = " ".join(borrowed["assumptions"])
        for needle in ("facts of sm_90, borrowed: the GPU is of sm_00", "calibration of NVIDIA H200, borrowed", "taken from 9.0"):
            self.assertIn(needle, said)
        self.assertIn("fitted_s", borrowed["times"])
        conditions, bare = self.prediction("--gpu", "toy")
        self.assertEqual(conditions, {"facts": "none: without counters", "calibration": "none"})
        self.assertNotEqual(bare["time_s"], borrowed["time_s"])

    def test_a_profiles_id_decides_nothing(self):
        profile = shipped("profiles/h200.json")
        profile["id"] = "mine"
        self.write("mine.json", profile)
        conditions, same = self.prediction("--gpu", "mine.json")
        shipped_conditions, as_shipped = self.prediction()
        self.assertEqual((conditions, same), (shipped_conditions, as_shipped))
        profile["id"] = "h200"
        bandwidth = profile["dram_read_bandwidth"]
        bandwidth["value"] *= 0.99
        for part in ("interval", "spread"):
            bandwidth[part] = {k: v if k == "n" else 0.99 * v for k, v in bandwidth[part].items()}
        self.write("edited.json", profile)
        self.assertRegex(self.ok("predict", *self.WORDS, "--gpu", "edited.json").out,
                         r"the\s+calibration\s+was\s+fitted\s+with\s+the\s+profile\s+h200,\s+from\s+which\s+this\s+one\s+differs\s+in\s+dram_read_bandwidth\s+\(-1\s+%\)")

    def test_bad_files(self):
        facts, calibration = json.loads(self.FACTS.read_text()), json.loads(self.CALIBRATION.read_text())

        def refused(option, document, *needles):
            self.refused(3, ["predict", *self.WORDS, option, self.write("bad.json", document)], r"bad\.json", *needles)

        refused("--facts", calibration, "convcast/facts/3", "right kind of file")
        refused("--calibration", facts, "convcast/calibration/4", "right kind of file")
        refused("--calibration", {"schema": "convcast/calibration/3", "gpu": "h200"}, "another version", "convcast fit")
        refused("--facts", {**facts, "schema": "convcast/facts/2"}, "another version of convcast", "convcast facts")
        refused("--facts", {**facts, "architecture": "sm_90\u001b[2J"}, "/architecture", "sm_90")
        refused("--facts", {**facts, "kernels": []}, "/kernels", "--facts none")
        refused("--facts", {**facts, "kernls": []}, "unknown field")
        refused("--facts", {**facts, "kernels": [{**facts["kernels"][0], "merging": -1}]}, "/kernels/0/merging", "expected a number from 0")
        refused("--calibration", {k: v for k, v in calibration.items() if k != "fitted"}, 'missing required field "fitted"')
        refused("--calibration", {**calibration, "ratio_p95": 1e9}, "/ratio_p95", "expected a number from 0.01 to 100", "for example")
        self.refused(3, ["predict", *self.WORDS, "--facts", "no_such.json"], r"no_such\.json")
        self.refused(2, ["predict", *self.WORDS, "--facts", ""], "--facts has an empty value")
        self.refused(3, ["choose", "--shape", MULTI, "--calibration", "no_such.json"], r"no_such\.json")

    @unittest.skipUnless(RECORDED.is_dir(), "nothing recorded")
    def test_what_ships_is_what_its_commands_make(self):
        """data/facts and data/calibration from the recordings, by the commands of docs/cli: the same numbers."""
        runs = [RECORDED / name for name in ("sweep.json.gz", "chang.json.gz", "depthwise.json.gz")]
        layers = [word for name in ("layers", "depthwise", "depthwise_random", "grouped_random", "drawn_df4eb4b8/layers", "drawn_df4eb4b8/depthwise",
                                    "drawn_df4eb4b8/grouped", "regimes") for word in ("--interval", RECORDED / f"{name}.json.gz")]
        for verb, its, shipped in (("facts", runs, self.FACTS), ("fit", [*runs[:2], *layers], self.CALIBRATION)):
            result = self.answered(0, verb, *its, "-o", verb + ".json", timeout=600)
            self.assertRegex(result.err, rf"to use it: convcast predict --(facts|calibration) {verb}\.json")
            self.alike(json.loads((self.folder / (verb + ".json")).read_text()), json.loads(shipped.read_text()), verb)

    def alike(self, now, then, place):
        """Numbers to nine digits: the last ones are those of a machine's exp and pow."""
        self.assertEqual(type(now), type(then), place)
        if isinstance(now, dict):
            self.assertEqual(list(now), list(then), place)
            for key in now:
                self.alike(now[key], then[key], f"{place}/{key}")
        elif isinstance(now, list):
            self.assertEqual(len(now), len(then), place)
            for i, (one, other) in enumerate(zip(now, then)):
                self.alike(one, other, f"{place}/{i}")
        elif isinstance(now, float):
            self.assertTrue(math.isclose(now, then, rel_tol=1e-9), f"{place}: {now} is not {then}")
        else:
            self.assertEqual(now, then, place)


# ---- bad files: 3 ----

class Files(Cli):
    def profile(self, name, content, *needles, problems=1):
        with self.subTest(name=name):
            self.write(name, content)
            self.refused(3, ["predict", "--shape", SINGLE, "--gpu", name], "^convcast: " + re.escape(name), *needles, problems=problems)

    def test_profiles_that_are_no_files(self):
        (self.folder / "folder").mkdir()
        (self.folder / "folder.json").mkdir()
        self.all_refused(3, [
            (["predict", "--shape", SINGLE, "--gpu", "nowhere.json"], r"nowhere\.json", "No such file"),
            (["predict", "--shape", SINGLE, "--gpu", "./nowhere"], r"\./nowhere", "No such file"),
            (["predict", "--shape", SINGLE, "--gpu", "folder"], "folder", "is a folder without profile.json", "convcast adapt -o folder"),
            (["predict", "--shape", SINGLE, "--gpu", "folder.json"], "is a folder"),
            (["predict", "--shape", SINGLE, "--gpu", "/dev/null"], "/dev/null"),
            (["predict", "--shape", SINGLE, "--gpu", "-"], "standard input"),
            (["predict", "--study", "nowhere.json"], r"nowhere\.json", "No such file"),
            (["measure", "--from-raw", "nowhere.json"], r"nowhere\.json", "No such file"),
        ])

    def test_profiles_that_are_not_json(self):
        text = (SOURCE / "profiles" / "toy.json").read_text()
        generator = random.Random(1)
        self.profile("empty.json", "", ":1: not valid JSON")
        self.profile("blank.json", "  \n\n ", "not valid JSON")
        self.profile("garbage.json", bytes([0x07]) + generator.randbytes(4000), ":1: not valid JSON")
        self.profile("utf8.json", b'{"schema": "\xff\xfe"}', ":1: not valid JSON")
        self.profile("cut.json", text[:1000], rf":{text[:1000].rstrip().count(chr(10)) + 1}: not valid JSON")
        self.profile("nan.json", text.replace("1000000000", "NaN", 1), "not valid JSON")
        self.profile("trailing.json", text + "x", "not valid JSON")
        self.profile("deep.json", "[" * 100000 + "]" * 100000, "nested deeper than 64")
        self.profile("deep_but_named.json", '{"schema": "convcast/profile/1", "x_a": ' + "[" * 100 + "]" * 100 + "}", "nested deeper than 64")
        self.profile("twice.json", text.replace('"id": "toy",', '"id": "toy",\n"id": "toy2",'), ':4: duplicate key "id"')

    def test_profiles_that_are_not_profiles(self):
        text = (SOURCE / "profiles" / "toy.json").read_text()

        def changed(change):
            profile = toy()
            change(profile)
            return profile

        schema = re.escape('expected "schema": "convcast/profile/1"')
        self.profile("array.json", "[]", schema)
        self.profile("string.json", '"convcast/profile/1"', schema)
        self.profile("other.json", text.replace("convcast/profile/1", "convcast/run/1"), schema, "convcast/run/1")
        self.profile("later.json", text.replace("profile/1", "profile/2"), schema)
        self.profile("unit.json", text.replace('"Hz"', '"GHz"', 1), r":\d+: /sm_clock/unit", 'expected unit "Hz", got "GHz"')
        self.profile("limits.json", changed(lambda p: p.pop("limits")), 'missing required field "limits"')
        self.profile("negative.json", changed(lambda p: p["sm_clock"].update(value=-1)), "/sm_clock/value", "above zero")
        self.profile("zero.json", changed(lambda p: p["limits"].update(sm_count=0)), "/limits/sm_count", "expected an integer from 1 to 4096, got 0")
        self.profile("huge.json", changed(lambda p: p["limits"].update(sm_count=10**15)), "/limits/sm_count")
        self.profile("text.json", changed(lambda p: p["sm_clock"].update(value="1")), "/sm_clock/value", "expected a number, got string")
        self.profile("half.json", changed(lambda p: p["limits"].update(sm_count=1.5)), "/limits/sm_count", "expected an integer")
        self.profile("bare.json", changed(lambda p: p.update(sm_clock=1e9)), "/sm_clock", '"unit": "Hz"')
        self.profile("field.json", changed(lambda p: p.update(sm_clok=1)), "/sm_clok", "did you mean 'sm_clock'")
        self.profile("source.json", changed(lambda p: p["sm_clock"].update(source="measurd")), "did you mean 'measured'")
        self.profile("three.json", changed(lambda p: (p["limits"].update(sm_count=1.5), p["sm_clock"].update(value="1"), p.pop("name"))),
                     "/limits/sm_count", "/sm_clock/value", '"name"', problems=3)

    def test_a_number_too_large_is_said_in_our_words(self):
        self.write("inf.json", (SOURCE / "profiles" / "toy.json").read_text().replace("1000000000", "1e999", 1))
        self.assertNotIn("json.exception", self.refused(3, ["predict", "--shape", SINGLE, "--gpu", "inf.json"], "1e999").err)

    def test_extra_fields_are_for_users(self):
        profile = toy()
        profile["x_note"] = {"mine": [1]}
        self.ok("predict", "--gpu", self.write("mine.json", profile), "--shape", SINGLE)

    def test_gzip(self):
        packed = gzip.compress((SOURCE / "profiles" / "toy.json").read_bytes(), mtime=0)
        self.write("whole.gz", packed)
        self.assertEqual(self.ok("predict", "--gpu", "whole.gz", "--shape", SINGLE).out,
                         self.ok("predict", "--gpu", "toy", "--shape", SINGLE).out)
        self.profile("half.json.gz", packed[:len(packed) // 2], "damaged or cut gzip")
        self.profile("head.json.gz", packed[:2], "damaged or cut gzip")
        flipped = bytearray(packed)
        flipped[len(flipped) // 2] ^= 0xFF
        self.profile("flipped.json.gz", bytes(flipped))

    def test_a_study_file(self):
        study = {"schema": "convcast/study/1", "id": "mine", "title": "t", "citation": "c", "shapes": [SINGLE]}
        self.write("mine.json", study)
        self.assertEqual({c["study"] for c in self.ok("predict", "--gpu", "toy", "--study", "mine.json", "--json").json()["cases"]}, {"mine"})
        for name, shapes, needle in (("none.json", [], "at least one shape"), ("bad.json", [SINGLE, "n1"], "/shapes/1")):
            self.write(name, {**study, "shapes": shapes})
            self.refused(3, ["predict", "--study", name], name, needle, "n1c")

    def test_a_list_that_is_absent_is_an_empty_one(self):
        """What is said of an empty list is said of one that is not there."""
        self.write("net.json", {"schema": "convcast/network/1", "id": "a", "title": "t", "citation": "c", "input": [1, 28, 28]})
        for verb in ("predict", "choose", "run"):
            self.refused(3, [verb, "--network", "net.json"], "net.json:1: /operators: expected at least one operator")
        forecast = self.ok("predict", "--network", "mnist", "--json").json()
        del forecast["cases"][0]["launches"][0]["operators"]
        self.write("forecast.json", forecast)
        self.refused(3, ["report", "forecast.json"], r"forecast.json:\d+: /cases/0/launches/0/operators: expected the operators")
        scaling = self.ok("predict", "--network", "mnist", "--devices", "0,1", "--json").json()
        del scaling["cases"][0]["shares"]
        self.write("scaling.json", scaling)
        self.refused(3, ["report", "scaling.json"], r"scaling.json:\d+: /cases/0/shares: expected .\d+., what each GPU has of this step")

    def test_a_network_that_is_not_the_one_of_its_name(self):
        """A ladder is of the network that ships; one's own of that name is named, and no file that ships."""
        network = shipped("data/networks/mnist.json")
        network["operators"] = network["operators"][:2]
        self.write("mnist.json", network)
        self.refused(2, ["predict", "--network", "./mnist.json", "--ladder"], "network given as 'mnist' is another one than ships",
                     'give yours an "id" of its own')

    def test_facts_that_nobody_could_read_are_not_written(self):
        recorded = RECORDED / "chen_sgemm.json.gz"
        self.refused(3, ["facts", recorded, "-o", "f.json"], "chen_sgemm.json.gz: has no kernel that was counted in 4 calls")
        baselines = json.loads(gzip.decompress(recorded.read_bytes()))
        baselines["cases"] = [case for case in baselines["cases"] if "baseline" in case]
        self.write("baselines.json", baselines)
        self.refused(3, ["fit", "baselines.json", "-o", "f.json"], "baselines.json: has no measured call of our own strategies")

    def test_what_is_semantically_wrong_has_a_line(self):
        facts = shipped("data/facts/sm_90.json")
        facts["kernels"][2]["pace"]["alu_share"] = 2
        self.write("facts.json", facts)
        text = (self.folder / "facts.json").read_text().splitlines()
        line = next(i for i, of in enumerate(text, 1) if of.strip().rstrip(",") == '"alu_share": 2')
        self.refused(3, ["predict", "--shape", SINGLE, "--facts", "facts.json"], f"facts.json:{line}: /kernels/2/pace/alu_share: expected")
        calibration = shipped("data/calibration/h200.json")
        calibration["profile"]["numbers"]["sm_clock"] = 1e-300
        self.write("cal.json", calibration)
        self.refused(3, ["predict", "--shape", SINGLE, "--calibration", "cal.json"], r"cal.json:\d+: /profile/numbers/sm_clock: expected a number")
        calibration["profile"]["numbers"]["sm_clock"] = 0
        out = self.ok("predict", "--shape", SINGLE, "--calibration", self.write("cal.json", calibration), env={"COLUMNS": "400"}).out
        self.assertRegex(out, r"sm_clock \(0 then, [0-9.e+]+ now\)")
        self.assertNotIn("inf", out)
        self.write("study.json", {"schema": "convcast/study/1", "shapes": [SINGLE, "n1"]})
        self.refused(3, ["predict", "--study", "study.json"], "study.json:5: /shapes/1: ")
        paper = shipped("data/papers/vadlamudi.json")
        item = next(i for i in paper["items"] if any(c["unit"] == "second" for c in i.get("published", [])))
        next(c for c in item["published"] if c["unit"] == "second")["value"] = 0
        self.write("paper.json", paper)
        self.refused(3, ["reproduce", "paper.json", "--json"], r"paper.json:\d+: /items/\d+/published/\d+/value: expected a time above 0")
        self.write("times.csv", f"shape,name,time_us\n{SINGLE},a\x1b[31mb,3\n{SINGLE},a\0b,3\n")
        self.refused(3, ["predict", "--gpu", "toy", "--shape", SINGLE, "--times", "times.csv", "--format", "csv"],
                     "times.csv:2: expected a name of 1 to 100 characters without control characters", problems=2)

    def test_a_study_of_sweeps(self):
        sweep = {"id": "q", "swept": "pieces", "title": "t", "shapes": [SINGLE],
                 "strategies": ["map_split:pieces=1", "map_split:pieces=4"]}
        study = {"schema": "convcast/study/1", "id": "mine", "title": "t", "citation": "c", "shapes": [], "sweeps": [sweep]}
        cases = self.ok("predict", "--gpu", "toy", "--study", self.write("mine.json", study), "--json").json()["cases"]
        self.assertEqual([c["strategy"] for c in cases], [s + ",buffers=2" for s in sweep["strategies"]],
                         "these settings and no others")
        self.assertEqual({c["study"] for c in cases}, {"mine"})
        self.ok("predict", "--gpu", "toy", "--study", "mine.json", "-o", "run.json")
        self.ok("report", "run.json", "--study", "mine.json", "-o", "page")
        self.assertIn("pieces", (self.folder / "page" / "figures" / "sweep_q.svg").read_text())
        self.refused(2, ["predict", "--study", "mine.json", "--strategy", "map_split"], "settings of its own", "--strategy")
        for name, broken, needle in (("swept.json", {"swept": "p"}, "/sweeps/0/swept"), ("id.json", {"id": "../q"}, "/sweeps/0/id"),
                                     ("none.json", {"strategies": []}, "/sweeps/0"),
                                     ("strategy.json", {"strategies": ["map_spli"]}, "/sweeps/0/strategies/0")):
            self.write(name, {**study, "sweeps": [{**sweep, **broken}]})
            self.refused(3, ["predict", "--study", name], name, needle)

    def test_fewer_sms(self):
        """The profile with another number of SMs and nothing else, and a document that says so."""
        words = ("--shape", MULTI, "--strategy", "naive_global", "--json")
        profile = toy()
        profile["limits"]["sm_count"] = 4
        self.write("four.json", profile)
        four = self.ok("predict", "--gpu", "toy", "--sms", "4", *words).json()
        other = self.ok("predict", "--gpu", "four.json", *words).json()
        self.assertEqual(four["conditions"], {"sms": "4", "facts": "none: without counters", "calibration": "none"})
        self.assertEqual((four["cases"], four["profile_hash"]), (other["cases"], other["profile_hash"]))
        self.assertNotEqual(four["cases"], self.ok("predict", "--gpu", "toy", *words).json()["cases"])
        again = self.ok("predict", self.write("run.json", four)).json()
        self.assertEqual((again["cases"], again["conditions"]["sms"]), (four["cases"], "4"), "by its document's number")
        self.refused(2, ["predict", "run.json", "--sms", "4"], "--sms were both given")
        self.refused(2, ["run", "--resume", "run.json", "--sms", "4", "-o", "run.json"], "--sms were both given")
        for sms in ("0", "11", "x", "-1", ""):
            self.refused(2, ["predict", "--gpu", "toy", "--sms", sms, *words], "--sms")
        self.refused(2, ["predict", "--gpu", "toy", "--sms", "1000000000", *words], "got '1000000000'")
        self.refused(2, ["predict", "--gpu", "h200", "--set", "max_threads_per_sm=512", *words],
                     "--set max_threads_per_sm: with it max_threads_per_cta is wrong: expected at most max_threads_per_sm, 512, got 1024")
        self.refused(4, ["run", "--gpu", "toy", "--sms", "4", *words], NO_GPU)
        unmeasured = self.cli("choose", "--gpu", "toy", "--sms", "4", "--shape", MULTI, "--measure", "1")
        self.assertEqual((unmeasured.code, unmeasured.out),
                         (4, self.ok("choose", "--gpu", "toy", "--sms", "4", "--shape", MULTI, "--top", "1").out))
        self.assert_sentence(unmeasured.err, NO_GPU)
        for sms in ("x", "", "0", "-4", "11", "4 ", "99999999999999999999"):
            self.write("bad.json", {**four, "conditions": {"sms": sms}})
            for verb in ("predict", "run"):
                self.refused(3, [verb, "bad.json"], r"bad\.json: /conditions/sms")

    @unittest.skipUnless(RECORDED.is_dir(), "nothing recorded")
    def test_a_fit_without_each_strategy(self):
        chang = RECORDED / "chang.json.gz"
        rows = self.ok("fit", chang, "--leave-one-out", "--json").json()
        text = self.ok("fit", chang, "--leave-one-out").out
        self.assertEqual(rows[-1]["strategy"], "all")
        self.assertEqual(rows[-1]["test"], sum(r["test"] for r in rows[:-1]))
        self.assertEqual(rows[-1]["training"], sum(r["training"] for r in rows[:-1]))
        for row in rows:
            self.assertRegex(text, rf"(?m)^{row['strategy']} .* {100 * row['left_out']:.1f} % .*"
                             rf" {100 * row['new_kernel']:.1f} %")
        self.refused(2, ["fit", chang, "--json"], "--leave-one-out")

    def test_run_documents(self):
        run = self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").json()
        text = json.dumps(run, indent=1)

        def changed(change):
            copy = json.loads(text)
            change(copy["cases"][0])
            del copy["cases"][1:]  # nothing else to go on with
            return copy

        documents = {
            "cut.json": (text[:700], ":[0-9]+: not valid JSON"),
            "schema.json": (text.replace("convcast/run/1", "convcast/run/9"), 'expected "schema": "convcast/run/1", got "convcast/run/9"'),
            "profile.json": ((SOURCE / "profiles" / "toy.json").read_text(), "convcast/profile/1", "right kind of file"),
            "page.html": ("<!doctype html><title>no</title>", "not valid JSON"),
            "both.json": (changed(lambda c: c.update(baseline="cudnn:gemm")), "/cases/0", 'either "strategy" or "baseline"'),
            "neither.json": (changed(lambda c: c.pop("strategy")), "/cases/0", 'either "strategy" or "baseline"'),
            "shape.json": (changed(lambda c: c.update(shape="n1")), "/cases/0/shape", "Example: "),
            "status.json": (changed(lambda c: c.update(status="okk")), "/cases/0/status", "did you mean 'ok'"),
            "below_zero.json": (changed(lambda c: c.update(measurements=[{"time_s": -1, "l2": "cold", "method": "m", "stop_reason": "s"}])),
                                "/cases/0/measurements/0/time_s", "expected a number from 0 to"),
            "measured.json": (changed(lambda c: c.update(measurements=[{"l2": "hot"}])), "/cases/0/measurements/0"),
        }
        for name, (content, *needles) in documents.items():
            self.write(name, content)
            problems = 4 if name == "measured.json" else 1
            for words in (["report", name, "-o", "page"], ["report", name, "--json"], ["run", name, "-o", "new.json"],
                          ["run", "--resume", name, "--shape", SINGLE, "-o", "new.json"]):
                if name == "profile.json" and words[0] == "report":
                    continue  # which it draws, too
                with self.subTest(words=words):
                    self.refused(3, words, "^convcast: " + re.escape(name), *needles, problems=problems)
        self.refused(3, ["report", "-", "-o", "page"], "standard input:1: not valid JSON", stdin=b"")
        (self.folder / "empty").mkdir()
        self.refused(3, ["report", "empty"], "is a folder")
        self.refused(3, ["measure", "--from-raw", "profile.json"], "convcast/samples/1")

    def unreadable(self):
        """A forecast of several cases, and what may be wrong with one of them: its change, what is said."""
        run = self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").json()
        changes = {
            "strategy": (lambda c: c.update(strategy="filtr_split"), "/strategy", "did you mean 'filter_split'"),
            "knob": (lambda c: c.update(strategy="naive_global:threads=99999"), "/strategy", "from 32 to 1024"),
            "baseline": (lambda c: (c.pop("strategy"), c.update(baseline="cudnn:gem")), "/baseline", "did you mean 'cudnn:gemm'"),
            "shape": (lambda c: c.update(shape="n1"), "/shape", "Example: "),
            "status": (lambda c: c.update(status="okk"), "/status", "did you mean 'ok'"),
            "type": (lambda c: c.update(reason=3), "/reason", "expected a string, got integer"),
            "field": (lambda c: c.update(colour="red"), "/colour", "unknown field"),
            "time": (lambda c: c.update(measurements=[{"time_s": -1, "l2": "cold", "method": "m", "stop_reason": "s"}]),
                     "/measurements/0/time_s", "expected a number from 0"),
        }
        for name, (change, where, needle) in changes.items():
            copy = json.loads(json.dumps(run))
            change(copy["cases"][2])
            yield name, self.write(name + ".json", copy), copy, "/cases/2" + where, needle

    def said(self, result, code, name, where, needle):
        """The case's file, line and path, then that it was left out."""
        self.assertEqual(result.code, code, result.err)
        lines = [line for line in result.err.splitlines() if name in line]
        self.assertRegex(lines[0], rf"^convcast: note: {name}:[0-9]+: {where}: .*{re.escape(needle)}")
        self.assertRegex(lines[-1], rf"^convcast: note: {name}: 1 of [0-9]+ cases cannot be read and is left out")

    def test_a_case_that_cannot_be_read_is_said_and_kept(self):
        for kind, name, document, where, needle in self.unreadable():
            with self.subTest(kind=kind):
                bad = document["cases"][2]
                self.said(self.cli("predict", name, "--gpu", "toy", "-o", "again.json"), 1, name, where, needle)
                again = json.loads((self.folder / "again.json").read_text())
                self.assertEqual(again["cases"][2], bad)
                self.assertEqual(len(again["cases"]), len(document["cases"]))
                self.assertEqual(again["cases"][1]["strategy"], document["cases"][1]["strategy"])
                self.assertEqual(again["cases"][3]["strategy"], document["cases"][3]["strategy"])
                self.said(self.cli("report", name, "-o", "page"), 1, name, where, needle)
                self.assertTrue((self.folder / "page" / "page.html").exists())
                merged = self.cli("merge", name, name, "-o", "merged.json")
                self.said(merged, 1, name, where, needle)
                cases = json.loads((self.folder / "merged.json").read_text())["cases"]
                self.assertEqual(cases[2], bad)
                self.assertEqual(len(cases), len(document["cases"]), "the same case of both stands once")
                for verb in ("facts", "fit"):
                    result = self.cli(verb, name, "--gpu", "toy", "-o", verb + ".out")
                    self.assertNotEqual(result.code, 0, result.err)  # `fit` has no measured case either
                    self.assertRegex(result.err, where)
                for words in (["run", name], ["run", "--resume", name, "-o", name],
                              ["run", "--resume", name, "--shape", SINGLE, "--gpu", "toy", "-o", "new.json"]):
                    result = self.answered(4, *words)
                    self.assertRegex(result.err, where)
                self.assertEqual(json.loads((self.folder / name).read_text()), document)

    def test_cases_that_cannot_be_read_are_counted_not_all_said(self):
        run = self.ok("predict", "--gpu", "toy", "--study", "chang_single", "--json").json()
        for case in run["cases"][5:]:
            case["status"] = "okk"
        result = self.answered(1, "predict", self.write("run.json", run), "--gpu", "toy", "-o", "again.json")
        self.assertEqual(len(result.err.splitlines()), 22)
        self.assertRegex(result.err, r"note: and [0-9]+ more problems\n.* [0-9]+ of [0-9]+ cases cannot be read and are left out")
        self.assertEqual(json.loads((self.folder / "again.json").read_text())["cases"][5:], run["cases"][5:])

    def test_a_document_that_is_forecast_again_keeps_what_a_run_found(self):
        run = self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").json()
        run["conditions"] = {"gpu": "NVIDIA H200"}
        statuses = ["unsupported", "infeasible", "wrong_result", "failed", "not_run"]
        cases = run["cases"][:len(statuses)]
        cases += [{"shape": SINGLE, "baseline": "cudnn:winograd"} for _ in statuses]
        for case, status in zip(cases, 2 * statuses):
            case.update(status=status, reason="because of " + status)
        run["cases"] = cases
        again = self.ok("predict", self.write("run.json", run), "--gpu", "toy").json()
        keep = ("shape", "strategy", "baseline", "status", "reason")
        self.assertEqual([{k: c.get(k) for k in keep} for c in again["cases"]], [{k: c.get(k) for k in keep} for c in cases])
        # A forecast's own refusals are of the GPU that it was made for.
        del run["conditions"]
        again = self.ok("predict", self.write("run.json", run), "--gpu", "toy").json()
        self.assertEqual([c["status"] for c in again["cases"][:2]], ["ok", "ok"])
        self.assertEqual([c["status"] for c in again["cases"][5:7]], ["unsupported", "infeasible"])

    def test_recorded_refusals_survive_a_forecast(self):
        recorded = RECORDED / "chang.json.gz"
        if not recorded.exists():
            self.skipTest("no recorded data here")
        old = json.loads(gzip.decompress(recorded.read_bytes()))["cases"]
        self.ok("predict", recorded, "-o", "again.json")
        new = json.loads((self.folder / "again.json").read_text())["cases"]
        refused = [c for c in old if c["status"] == "unsupported"]
        self.assertEqual(len(refused), 179)
        self.assertTrue(all(c["reason"] for c in refused))
        self.assertEqual([(c["status"], c.get("reason")) for c in new], [(c["status"], c.get("reason")) for c in old])
        rows = self.ok("report", "again.json", "--json").json()["cases"]
        self.assertEqual(sum(row["status"] == "unsupported" for row in rows), 179)

    def test_no_control_character_of_a_file_reaches_the_terminal(self):
        nasty = "\x1b]0;title\x07\x7f\x9b31m"
        profile = toy()
        profile[nasty] = 1
        self.write("key.json", profile)
        self.assertNotRegex(self.cli("predict", "--gpu", "key.json", "--shape", SINGLE).err, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        del profile[nasty]
        profile["name"] = profile["id"] = nasty
        profile["checks"] = [{"name": nasty, "passed": False, "text": nasty}]
        profile["conditions"] = {"driver": nasty}
        self.write("name.json", profile)
        self.write("other.json", {**profile, "conditions": {"driver": "other" + nasty}})
        for words in (["choose", "--gpu", "name.json", "--shape", SINGLE], ["report", "name.json", "-o", "page"],
                      ["compare", "name.json", "other.json"], ["predict", "--gpu", "name.json", "--shape", SINGLE],
                      ["predict", "--gpu", "name.json", "--shape", SINGLE, "--json"]):
            with self.subTest(words=words):
                result = self.cli(*words)
                self.assertNotRegex(result.out + result.err, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_no_control_character_of_the_command_line_reaches_the_terminal(self):
        nasty = "\x1b[31mred\x1b[0m\x1b[1m"
        for words in (["predict", "--shape", SINGLE, "--gpu", nasty], [nasty], ["predict", "--shape", nasty], ["predict", "--network", nasty],
                      ["explain", nasty], ["predict", "--shape", SINGLE, "--strategy", nasty], ["report", nasty]):
            err = self.cli(*words).err
            self.assertNotIn("\x1b", err)
            self.assertIn(r"\x1b[0m", err)

    def test_what_a_file_is_and_what_takes_it(self):
        self.write("small.onnx", onnx_file.small_network())
        for words in (["predict", "small.onnx"], ["report", "small.onnx"]):
            result = self.answered(3, *words)
            self.assert_sentence(result.err, "ONNX file.*--network small.onnx.*--shapes small.onnx")

    def test_a_network_through_a_pipe(self):
        text = (SOURCE / "data" / "networks" / "alexnet.json").read_bytes()
        self.assertEqual(self.ok("predict", "--network", "-", stdin=text).out, self.ok("predict", "--network", "alexnet").out)

    def test_an_ending_says_the_format(self):
        words = ("predict", "--shape", SINGLE, "--strategy", "naive_global")
        for ending, format_name in (("csv", "csv"), ("md", "markdown")):
            self.ok(*words, "-o", "out." + ending)
            self.assertEqual((self.folder / ("out." + ending)).read_text(), self.ok(*words, "--format", format_name).out)
        self.write("run.json", self.ok(*words, "--json").out)
        self.write("network.json", self.ok("predict", "--network", "alexnet", "--json").out)
        for output in ("z.png", "z.csv", "z.json"):
            for document in ("run.json", "network.json"):
                self.refused(2, ["report", document, "-o", output], "would be a folder", "--figure NAME")
        for more in (["--bundle", "z.tar.gz"], ["--format", "csv"], ["--format", "markdown"]):
            self.refused(2, ["report", "network.json", *more], more[0] + ".* of a run")

    def test_long_names_of_curves_make_short_names_of_files(self):
        profile = toy()
        curve = {"x_name": "x", "x_unit": "B", "y_name": "y", "y_unit": "clk", "x_logarithmic": False, "y_logarithmic": False,
                 "series": [{"name": "", "x": [1, 2], "y": [1, 2], "low": [1, 2], "high": [1, 2]}]}
        profile["curves"] = {"c" * 300: curve, "c" * 299 + "d": curve}
        self.ok("report", self.write("profile.json", profile), "-o", "page")
        names = [p.name for p in (self.folder / "page" / "figures").glob("ccc*.csv")]
        self.assertEqual(len(names), 2)
        self.assertLess(max(map(len, names)), 150)

    def test_what_never_ends_is_refused(self):
        self.refused(3, ["predict", "--gpu", "/dev/zero", "--shape", SINGLE], "/dev/zero", "begins with a NUL byte")

    def test_a_long_key_costs_nothing(self):
        self.write("key.json", '{"schema": "convcast/profile/1", "' + "k" * 20000000 + '": 1}')
        result = self.answered(3, "predict", "--gpu", "key.json", "--shape", SINGLE, timeout=20)
        self.assertLess(len(result.err), 5000)

    def test_large_garbage_is_refused_at_once(self):
        def processor_seconds():
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            return used.ru_utime + used.ru_stime

        def work(name, content):
            """In seconds of processor time, which others on this machine do not lengthen."""
            self.write(name + ".json", content)
            before = processor_seconds()
            self.refused(3, ["predict", "--shape", SINGLE, "--gpu", name + ".json"], name, timeout=600)
            taken = processor_seconds() - before
            (self.folder / (name + ".json")).unlink()
            return taken

        size = 50 * 1000 * 1000
        for name, make in (("noise", lambda n: random.Random(2).randbytes(n)), ("zeros", bytes), ("open", lambda n: b"[" * n),
                           ("word", lambda n: b'{"schema": "' + b"a" * n), ("digits", lambda n: b"1" * n),
                           ("gzip", lambda n: b"\x1f\x8b" + bytes(n))):
            with self.subTest(name=name):
                # A build without optimisation or with a sanitizer may be slow, but no more than ten times the tenth.
                self.assertLess(work(name, make(size)), max(5, 15 * work(name, make(size // 10))))

    def small_memory(self, mebibytes):
        limits = [(resource.RLIMIT_AS, mebibytes << 20)]
        if self.cli("--version", limits=limits).code != 0:
            self.skipTest(f"the binary itself does not start in {mebibytes} MiB of addresses (a sanitizer's build)")
        return limits

    def test_sweeps_are_bounded_before_they_are_built(self):
        sweeps = [word for size in "hwc" for word in ("--sweep", f"{size}=8:10007:1")]
        for verb in ("predict", "choose"):
            self.refused(2, [verb, "--shape", "n1c64h56w56k64r3s3", *sweeps], r"10000 shapes times 10000 values are more than the 100000 ",
                         "--sweep h=w=28:224:28", limits=self.small_memory(300))
        values = ",".join(f"x{i}" for i in range(1, 101))
        self.refused(2, ["choose", "--shape", SINGLE, *(3 * ["--set", f"dram_read_bandwidth={values}"])], "more than 1000 GPUs, SMs and --set",
                     limits=self.small_memory(300))

    def test_more_answers_than_memory_holds_are_refused_before_the_work(self):
        many = ["--shape", "n1c8h14w14k32r3s3", "--sweep", "n=1:10000:1", "--sweep"]
        self.refused(2, ["predict", *many, "k=1:2:1"], r"up to \d+ forecasts .* at most 200000;", "--strategy", "-o forecast.jsonl", timeout=20)
        self.refused(2, ["choose", *many, "k=1:5:1", "--json"], r"50000 shapes .* at most 200000 cases;", "-o chosen.jsonl", timeout=20)

    def test_the_time_of_a_forecast_does_not_grow_with_the_shape(self):
        for shape in ("n1c1h1073741824w1k1r1073741824s1", "n1c1073741824h1w1k1r1s1", "n1c268435456h2w2k2r2s2"):
            with self.subTest(shape=shape):
                used = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.ok("predict", "--shape", shape, "--json")
                now = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.assertLess(now.ru_utime - used.ru_utime, 5, "seconds of processor time")

    def test_shares_of_a_step_are_those_of_its_split(self):
        scaling = json.loads((RECORDED / "scaling" / "two_gpus.json").read_text())
        case = next(i for i, case in enumerate(scaling["cases"]) if case["split"] == "parameters")
        right = scaling["cases"][case]["shares"]
        for shares in ([3000000, 3], []):
            scaling["cases"][case]["shares"] = shares
            self.write("scaling.json", scaling)
            self.refused(3, ["report", "scaling.json", "-o", "page"], f"/cases/{case}/shares: expected .{', '.join(map(str, right))}.", timeout=20)

    def test_many_keys_are_read_in_linear_time(self):
        self.write("keys.json", '{"schema": "no", ' + ", ".join(f'"k{i}": 1' for i in range(150000)) + "}")
        self.refused(3, ["predict", "--shape", SINGLE, "--gpu", "keys.json"], "/schema", timeout=5)

    def test_little_memory(self):
        limits = [(resource.RLIMIT_AS, 300 << 20)]
        if self.cli("--version", limits=limits).code != 0:
            self.skipTest("the binary itself does not start in 300 MiB of addresses (a sanitizer's build)")
        with gzip.open(self.folder / "big.json.gz", "wb", compresslevel=1) as file:
            file.write(b"{" + b" " * (350 << 20))
        result = self.answered(1, "predict", "--shape", SINGLE, "--gpu", "big.json.gz", limits=limits, out="")
        self.assert_sentence(result.err, "out of memory")


# ---- outputs: 3 ----

class Outputs(Cli):
    def setUp(self):
        super().setUp()
        self.write("regular", "mine\n")
        (self.folder / "folder").mkdir()
        (self.folder / "round").symlink_to("round")
        self.forecast = ["predict", "--gpu", "toy", "--shape", SINGLE]
        self.write("run.json", self.ok(*self.forecast, "--json").out)

    def test_unwritable(self):
        self.all_refused(3, [
            ([*self.forecast, "-o", "nowhere/x.json"], r"nowhere/x\.json: cannot be written: No such file"),
            ([*self.forecast, "-o", "/nonexistent/x.json"], "/nonexistent/x.json: cannot be written"),
            ([*self.forecast, "-o", "regular/x.json"], "regular/x.json: cannot be written: Not a directory"),
            ([*self.forecast, "-o", "folder"], "folder: cannot be written: Is a directory"),
            ([*self.forecast, "-o", "/dev/full"], "/dev/full: cannot be written: No space left"),
            (["choose", "--gpu", "toy", "--shape", SINGLE, "-o", "/dev/full"], "No space left"),
            (["report", "run.json", "-o", "regular"], "regular/figures: cannot make this folder: Not a directory"),
            (["report", "run.json", "-o", "regular/deeper"], "regular/deeper/figures: cannot make"),
            (["report", "run.json", "-o", "/dev/full"], "/dev/full"),
            (["report", "run.json", "-o", "/proc/nowhere"], "/proc/nowhere"),
            (["report", "run.json", "-o", "x" * 256], "xxx/figures: cannot make this folder: File name too long"),
            (["report", "run.json", "-o", "round"], "round/figures: cannot make this folder: Too many levels of symbolic links"),
            (["report", "run.json", "-o", "regular/deeper/still"], "cannot make this folder: Not a directory"),
            (["reproduce", "chang", "-o", "round"], "round/?.*: Too many levels of symbolic links"),
        ])

    def test_the_statistics_are_not_printed_when_the_page_fails(self):
        self.refused(3, ["report", "run.json", "--json", "-o", "regular"], "regular")

    def test_a_folder_that_may_not_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        (self.folder / "folder").chmod(0o555)
        self.refused(3, [*self.forecast, "-o", "folder/x.json"], "folder/x.json", "Permission denied")
        self.refused(3, ["report", "run.json", "-o", "folder/page"], "Permission denied")

    def test_an_older_file_is_replaced_whole(self):
        self.ok(*self.forecast, "-o", "regular")
        self.assertEqual((self.folder / "regular").read_text(), (self.folder / "run.json").read_text())
        self.ok("report", "run.json", "-o", "folder")
        self.assertIn("page.html", os.listdir(self.folder / "folder"))
        self.assertFalse([name for name in self.files() if ".part" in name])

    def test_full_standard_output(self):
        for words in (["--help"], ["--version"], ["list"], ["list", "--json"], ["predict", "--help"], self.forecast, ["doctor"],
                      ["choose", "--gpu", "toy", "--shape", SINGLE], ["report", "run.json", "--json"]):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                result = self.answered(3, *words, stdout=full)
                self.assert_sentence(result.err, "standard output: cannot be written: No space left")

    def test_closed_pipe(self):
        for words in (["list"], ["--help"], ["predict", "--gpu", "toy", "--study", "chang_single", "--json"], ["doctor"]):
            reader, writer = os.pipe()
            os.close(reader)  # `| head -1`, after head has gone
            with self.subTest(words=words), os.fdopen(writer, "wb") as pipe:
                result = self.cli(*words, stdout=pipe)
                self.assertEqual((result.code, result.err), (-signal.SIGPIPE, ""))

    def test_head(self):
        done = subprocess.run(["bash", "-c", '"$0" list | head -1', BINARY], env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertRegex(done.stdout.decode(), r"^\d+ strategies \(--strategy\)\n$")
        self.assertEqual(done.stderr, b"")

    def test_a_closed_pipe_where_its_signal_is_blocked(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            done = subprocess.run([BINARY, "list"], stdout=pipe, stderr=subprocess.PIPE, env=self.environment(),
                                  preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE]))
        self.assertEqual((done.returncode, done.stderr), (141, b""))

    def test_a_named_pipe_that_nobody_reads(self):
        done = subprocess.run(["bash", "-c", f"'{BINARY}' predict --gpu toy --study chang_multi -o >(head -c 1 >&2)"],
                              env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((abs(done.returncode) % 128, done.stderr), (signal.SIGPIPE, b"{"))  # bash or the program itself

    def test_modes_and_links_are_kept(self):
        for mode in (0o600, 0o640, 0o666, 0o444):
            (self.folder / "regular").chmod(mode)
            self.ok(*self.forecast, "-o", "regular")
            self.assertEqual((self.folder / "regular").stat().st_mode & 0o777, mode)
        old = os.umask(0o027)
        try:
            self.ok(*self.forecast, "-o", "fresh.json")
        finally:
            os.umask(old)
        self.assertEqual((self.folder / "fresh.json").stat().st_mode & 0o777, 0o640)
        text = (self.folder / "run.json").read_text()
        (self.folder / "link.json").symlink_to("folder/deep.json")
        (self.folder / "folder" / "deep.json").symlink_to("real.json")
        for content in (None, "older"):  # of a file that is not there yet, and of one that is
            if content:
                (self.folder / "folder" / "real.json").write_text(content)
            self.ok(*self.forecast, "-o", "link.json")
            self.assertTrue((self.folder / "link.json").is_symlink() and (self.folder / "folder" / "deep.json").is_symlink())
            self.assertEqual((self.folder / "folder" / "real.json").read_text(), text)
        (self.folder / "round.json").symlink_to("round.json")
        self.refused(3, [*self.forecast, "-o", "round.json"], r"round\.json: cannot be written: Too many levels of symbolic links")
        self.assertEqual(sorted(p.name for p in self.folder.rglob("*")),
                         ["deep.json", "folder", "fresh.json", "link.json", "real.json", "regular", "round", "round.json", "run.json"])

    def test_links_inside_an_output_folder_are_replaced(self):
        self.write("theirs.txt", "theirs")
        (self.folder / "page" / "figures").mkdir(parents=True)
        made = sorted(p.name for p in self.made_report("other").iterdir() if p.is_file() and not p.name.startswith("."))
        links = [self.folder / "page" / "page.html", *(self.folder / "page" / "figures" / name for name in [*made, ".figures"])]
        self.assertGreater(len(made), 3)
        for link in links:
            link.symlink_to(self.folder / "theirs.txt")
        self.made_report("page")
        self.assertEqual((self.folder / "theirs.txt").read_text(), "theirs")
        self.assertEqual([str(link) for link in links if link.is_symlink()], [])

    def made_report(self, folder):
        """Its figures."""
        self.ok("report", str(RECORDED / "chen_sgemm.json.gz"), "-o", folder)
        return self.folder / folder / "figures"

    def test_closed_standard_streams(self):
        for closed, words in ((">&-", "list"), ("<&-", "report -")):
            done = subprocess.run(["bash", "-c", f'"$0" {words} {closed}', BINARY], env=self.environment(), cwd=self.folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (3, b""))
            self.assert_sentence(done.stderr.decode(), "standard (in|out)put")

    def test_full_standard_error_changes_no_exit_code(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BINARY, "frobnicate"], env=self.environment(), stdout=subprocess.PIPE, stderr=full)
        self.assertEqual((done.returncode, done.stdout), (2, b""))

    @contextlib.contextmanager
    def tiny_disk(self, size):
        disk = self.folder / "disk"
        disk.mkdir()
        if os.geteuid() != 0 or shutil.which("mount") is None:
            self.skipTest("needs root to mount a small disk")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], stderr=subprocess.PIPE)
        if done.returncode != 0:
            self.skipTest("cannot mount a small disk: " + done.stderr.decode().strip())
        try:
            yield disk
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_full_disk_keeps_the_older_file(self):
        with self.tiny_disk("16k") as disk:
            (disk / "run.json").write_text("older")
            result = self.answered(3, "predict", "--gpu", "toy", "--study", "chang_single", "-o", "disk/run.json", out="")
            self.assert_sentence(result.err, "disk/run.json: cannot be written: No space left")
            self.assertEqual({p.name: p.read_text() for p in disk.iterdir()}, {"run.json": "older"})

    def test_full_disk_before_the_page(self):
        with self.tiny_disk("24k") as disk:
            result = self.answered(3, "report", "run.json", "-o", "disk/page", out="")
            self.assertRegex(result.err, "No space left")
            self.assertFalse([p for p in disk.rglob("*") if ".part" in p.name])
            self.assertFalse((disk / "page" / "page.html").exists())

    def test_full_disk_leaves_no_page_without_its_figures(self):
        with self.tiny_disk("64k") as disk:
            result = self.answered(3, "report", "run.json", "-o", "disk/page", out="")
            self.assertFalse((disk / "page" / "page.html").exists())
            self.assert_sentence(result.err, "No space left")

    def test_a_limit_on_the_size_of_files(self):
        self.refused(3, ["predict", "--gpu", "toy", "--study", "chang_single", "-o", "large.json"], r"large\.json", "File too large",
                     limits=[(resource.RLIMIT_FSIZE, 8192)])

    def test_interrupted_forecast(self):
        before = self.files()
        question = ["choose", "--gpu", "toy"] + ["--study", "chang_multi"] * 200 + ["-o", "chosen.json"]
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            result = self.interrupted(which, *question, begun=lambda taken: taken > 0.3, within=2)
            self.assertEqual((result.code, result.out, self.files()), (130, "", before), "or the question was too small to be interrupted")
            self.assert_sentence(result.err, "interrupted after [0-9]+ of [0-9]+ shapes; nothing is kept", "chosen.json")

    def test_an_interrupted_reproduction_leaves_no_half(self):
        before = self.files()
        result = self.interrupted(signal.SIGTERM, "reproduce", "chang", "-o", "out", begun=lambda _: list((self.folder / "out").rglob("*.csv")))
        self.assertEqual((result.code, result.err), (130, ""))
        self.assertEqual(self.files(), {**before, "out": None}, "only the folder that was asked for")

    def test_interrupted_choices_of_many_shapes_go_on(self):
        question = ["choose", "--gpu", "toy", "--shape", SINGLE, "--sweep", "n=1:2000:1", "--strategy", "naive_global", "--strategy",
                    "row_register", "--top", "1", "-o"]
        self.ok(*question, "whole.jsonl")
        whole = (self.folder / "whole.jsonl").read_text()
        (self.folder / "part.jsonl").write_text("".join(whole.splitlines(keepends=True)[:257]))
        self.ok(*question, "part.jsonl", "--resume", "part.jsonl")
        self.assertEqual((self.folder / "part.jsonl").read_text(), whole)
        self.refused(2, ["choose", "--gpu", "toy", "--shape", SINGLE, "-o", "whole.json", "--resume", "whole.jsonl"], "give -o FILE.jsonl too")
        self.refused(2, ["choose", "--shape", SINGLE, "-o", "other.jsonl", "--resume", "whole.jsonl"], "chosen with another profile")

    def test_an_interrupt_keeps_choices_that_are_written_as_lines(self):
        question = ["choose", "--shape", SINGLE, "--sweep", "n=1:100000:11", "--top", "1", "-o", "long.jsonl"]
        result = self.interrupted(signal.SIGINT, *question, begun=lambda taken: taken > 100 or any(
            ".part" in p.name and p.stat().st_size > 10000 for p in self.folder.iterdir()))
        self.assertEqual(result.code, 130)
        self.assert_sentence(result.err, r"interrupted after [0-9]+ of 9091 shapes; long\.jsonl has them, and .* --resume long\.jsonl goes on")
        kept = int(re.search(r"after (\d+) of", result.err).group(1))
        self.assertEqual(len((self.folder / "long.jsonl").read_text().splitlines()), 1 + kept)
        self.assertFalse([p for p in self.folder.iterdir() if ".part" in p.name])

    def test_interrupted_while_it_writes(self):
        """The temporary file goes, the older file stays: a pipe fills before all is written, so there is time to interrupt."""
        question = ["predict", "--gpu", "toy"] + ["--study", "chang_multi"] * 4 + ["-o", "large.json.gz"]
        self.write("large.json.gz", "older")
        before = self.files()
        result = self.interrupted(signal.SIGTERM, *question, within=10,
                                  begun=lambda _: any(".part" in name for name in os.listdir(self.folder)))
        self.assertIn(result.code, (0, 130))  # 0: it was done before the signal came
        after = self.files()
        self.assertEqual(sorted(after), sorted(before))
        if after != before:  # it was in place before the signal came, and is whole
            self.assertTrue(json.loads(gzip.decompress(after["large.json.gz"]))["cases"])

    def test_an_ignored_signal_stays_ignored(self):
        with subprocess.Popen([BINARY, "choose", "--gpu", "toy", "--study", "chang_multi", "-o", "chosen.json"],
                              env=self.environment(), cwd=self.folder,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) as process:
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 0)


# ---- compile: NVRTC, no GPU ----

class Compile(Cli):
    def compile(self, *words, code=0):
        result = self.cli("compile", *words, timeout=600)
        if result.code == 4:
            self.assert_sentence(result.err.splitlines(True)[-1], "(?i)NVRTC|CUDA")
            self.skipTest("no NVRTC here")
        self.assertEqual(result.code, code, result.err)
        return result

    def test_a_table_and_the_cache(self):
        text = self.compile("--gpu", "h200", "--shape", SINGLE, "--strategy", "row_register").out
        self.assertRegex(text, r"(?m)^registers +shared, B +spills, B +stack, B +CTAs/SM +kernel$")
        self.assertRegex(text, r"(?m)^ *\d+ of \d+ +\d+ +0 +0 +\d+ of \d+  row_register<3, 3, [0-9, ]+>$")
        self.assertRegex(text, r"(?m)^4 kernels for sm_90 by NVRTC [0-9.]+, none with a problem; kept in .*/\.cache/convcast$")
        self.assertEqual(len(list((self.home / ".cache" / "convcast").glob("*.cubin"))), 3)

    def test_json(self):
        report = self.compile("--study", "chang_single", "--strategy", "filter_split", "--arch", "sm_90", "--json").json()
        self.assertEqual((report["schema"], report["architecture"]), ("convcast/compile/1", "sm_90"))
        own = [k for k in report["kernels"] if "register_cap" in k]
        self.assertGreater(len(own), 3)
        for kernel in own:
            self.assertLessEqual(kernel["registers"], kernel["register_cap"])
            self.assertGreaterEqual(kernel["ctas_per_sm"], kernel["planned_ctas_per_sm"])
            self.assertEqual(kernel["spill_store_bytes"] + kernel["spill_load_bytes"], 0)
            self.assertNotIn("problem", kernel)
        self.assertEqual({k["kernel"] for k in report["kernels"] if "register_cap" not in k},
                         {"convcast_reference", "convcast_compare", "convcast_im2col"})

    def test_a_document_and_a_file(self):
        self.write("run.json", self.ok("predict", "--gpu", "h200", "--shape", SINGLE, "--json").out)
        self.compile("run.json", "-o", "kernels.json")
        kernels = json.loads((self.folder / "kernels.json").read_text())["kernels"]
        self.assertTrue(any(k["kernel"].startswith("map_split<") for k in kernels))

    def test_what_does_not_compile_is_exit_code_1(self):
        result = self.compile("--shape", SINGLE, "--strategy", "map_split", "--arch", "sm_999", code=1)
        self.assertRegex(result.out, r"4 kernels|3 kernels")
        self.assertIn("with a problem", result.out)
        self.assertIn("gpu-architecture", result.out)

    def test_interrupted(self):
        """NVRTC takes seconds for a kernel and cannot be stopped."""
        self.compile("--gpu", "h200", "--shape", SINGLE, "--strategy", "row_register")
        words = ["compile", "--study", "chang_multi", "--study", "resnet50_b1", "-o", "kernels.json"]
        for which, after in ((signal.SIGINT, 1.0), (signal.SIGTERM, 2.5)):
            self.assertEqual(self.interrupted(which, *words, begun=lambda taken: taken > after, within=2).code, 130)
            self.assertEqual(self.files(), {})
            self.assertFalse(list((self.home / ".cache" / "convcast").glob("*.tmp")))

    def test_a_document_with_a_case_that_cannot_be_read(self):
        run = self.ok("predict", "--gpu", "h200", "--shape", SINGLE, "--json").json()
        run["cases"] = run["cases"][:2]
        run["cases"][0]["strategy"] = "filtr_split"
        result = self.compile(self.write("run.json", run), "-o", "kernels.json", code=1)
        self.assertRegex(result.err, r"note: run\.json:[0-9]+: /cases/0/strategy: .*did you mean 'filter_split'")
        kernels = json.loads((self.folder / "kernels.json").read_text())["kernels"]
        self.assertFalse([k for k in kernels if "problem" in k])

    def test_a_shape_that_nothing_does(self):
        result = self.compile("--shape", SINGLE + "_str2x2_dil3x3", "--strategy", "map_split")
        self.assertIn("note: no strategy that was asked has a plan", result.err)

    def test_refused(self):
        self.write("run.json", self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out)
        self.all_refused(2, [
            (["compile"], "no shape asked"), (["compile", "--gpu", "toy", "--shape", SINGLE], "'toy'", "--arch sm_90"),
            (["compile", "--gpu", "gtx1080ti", "--shape", SINGLE], "6.1", "sm_80 or newer"),
            (["compile", "--arch", "hopper", "--shape", SINGLE], "like sm_90", "'hopper'"),
            (["compile", "--arch", "sm_", "--shape", SINGLE], "like sm_90"),
            (["compile", "run.json", "--shape", SINGLE], "both given", "what to compile"),
            (["compile", "--shape", SINGLE, "--strategy", "map_splt"], "did you mean 'map_split'")])


# ---- what must not be lost ----


class NothingIsLost(Cli):
    def test_the_answer_never_takes_the_place_of_the_question(self):
        samples = (RECORDED / "samples.json").read_text()
        (self.folder / "samples.json").write_text(samples)
        self.refused(2, ["measure", "--from-raw", "samples.json", "-o", "./samples.json"], "name one file")
        self.assertEqual((self.folder / "samples.json").read_text(), samples)
        self.assertEqual(self.cli("measure", "--from-raw", "samples.json", "-o", "one.json").code, 0)
        self.refused(2, ["compare", "h200", "one.json", "-o", "one.json"], "take the place of one.json, which is read")

    def test_no_verb_writes_over_what_it_reads(self):
        self.write("run.json", self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out)
        self.write("gpu.json", toy())
        self.write("study.json", {"schema": "convcast/study/1", "id": "x", "title": "", "citation": "", "shapes": [SINGLE]})
        for name in ("run", "gpu", "study"):
            os.link(self.folder / (name + ".json"), self.folder / (name + "_hard.json"))
            (self.folder / (name + "_soft.json")).symlink_to(name + ".json")
        (self.folder / "page" / "figures").mkdir(parents=True)
        os.link(self.folder / "run.json", self.folder / "page" / "page.html")
        (self.folder / "other" / "figures").mkdir(parents=True)
        (self.folder / "other" / "figures" / "x.csv").symlink_to(self.folder / "run.json")
        gpu = ["--gpu", "gpu.json"]
        for name, what, commands in (
                ("run", "document", (["predict", "run.json", *gpu], ["compile", "run.json", *gpu], ["facts", "run.json", *gpu],
                                     ["fit", "run.json", *gpu], ["merge", "run.json", "run.json"], ["merge", "--bare", "run.json"],
                                     ["report", "run.json"], ["compare", "h200", "run.json"])),
                ("gpu", "profile", ([verb, "--shape", SINGLE, *gpu] for verb in ("predict", "choose", "compile", "run"))),
                ("study", "study", ([verb, "--study", "study.json", *gpu] for verb in ("predict", "choose", "compile", "run")))):
            for words in commands:
                for output in (name + ".json", f"./{name}.json", name + "_hard.json", name + "_soft.json",
                               self.folder / (name + ".json")):
                    with self.subTest(words=words, output=output):
                        self.refused(2, [*words, "-o", output], f"take the place of .*{name}.json, which is read",
                                     f"the {what} would be lost")
        for folder in ("page", "other"):
            self.refused(2, ["report", "run.json", "-o", folder], "the document would be lost")
        self.write("net.json", (SOURCE / "data" / "networks" / "alexnet.json").read_text())
        (self.folder / "net_soft.json").symlink_to("net.json")
        recorded = json.loads((self.folder / "run.json").read_text())
        self.write("rec.json", {**recorded, "conditions": {**recorded["conditions"], "gpu": "Toy GPU"}})
        for words in ([verb, "--network", "net.json", "-o", output, *more] for verb in ("predict", "choose", "run")
                      for output in ("net.json", "net_soft.json") for more in ([], ["--format", "csv"] * (verb != "run"))):
            self.refused(2, words, "take the place of --network net.json, which is read", "the network would be lost")
        for verb in ("predict", "choose"):
            self.refused(2, [verb, "--shape", SINGLE, *gpu, "--recorded", "rec.json", "-o", "rec.json"], "the record would be lost")
        self.refused(4, ["run", "--resume", "run.json", *gpu, "-o", "run_hard.json"], NO_GPU)  # which is what it is for
        self.write("layers.csv", f"shape\n{SINGLE}\n{MULTI}\n")
        for output in ("layers.csv", "./layers.csv", "page/../layers.csv"):
            self.refused(2, ["choose", "--shapes", "layers.csv", *gpu, "--figure", output], "--figure .*take the place of --shapes layers.csv")
        for beside in ("who_caption.tex", "convcast.bib"):
            os.link(self.folder / "layers.csv", self.folder / beside)
            self.refused(2, ["choose", "--shapes", "layers.csv", *gpu, "--figure", "who.svg"],
                         f"--figure who.svg also writes {beside}, which would take the place of --shapes layers.csv")
            self.refused(2, ["predict", "--shapes", "layers.csv", *gpu, "--strategy", "naive_global", "--diagram", "who.svg"],
                         f"--diagram who.svg also writes {beside}")
            self.refused(2, ["report", "run.json", "--times", "layers.csv", "--figure", "error_cdf", "-o", "who.svg"],
                         f"-o who.svg also writes {beside}")
            (self.folder / beside).unlink()
        self.write("run.tar.gz", gzip.compress((self.folder / "run.json").read_bytes()))
        self.refused(2, ["report", "run.tar.gz", "--bundle", "run.tar.gz"], "--bundle run.tar.gz would take the place of run.tar.gz")
        (self.folder / "papers" / "mine").mkdir(parents=True)
        (self.folder / "papers" / "chang").mkdir()
        self.write("papers/chang/claims.csv", (SOURCE / "data" / "papers" / "chang.json").read_text())
        self.refused(2, ["reproduce", "papers/chang/claims.csv", "-o", "papers"], "also writes papers/chang/claims.csv")
        self.write("mine.json", {"schema": "convcast/kernel/1", "source": "mine.cu", "parameters": ["output"], "grid": [1], "block": [32]})
        self.write("mine.cu", '#include "part.cuh"\n__global__ void mine(float *output) {}\n')
        self.write("part.cuh", "// nothing\n")
        for source in ("mine.json", "mine.cu", "part.cuh"):
            self.refused(2, ["predict", "--kernel", "mine.json", "--shape", SINGLE, *gpu, "-o", source],
                         f"-o {source} would take the place of --kernel .*{source}, which is read: the kernel would be lost")
        (self.folder / "digits").mkdir()
        self.refused(2, ["run", "--network", "mnist", "--data", "digits", "--weights", self.write("digits/train-images-idx3-ubyte", "pixels")],
                     "--weights .*would take the place of --data digits/train-images-idx3-ubyte")
        self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "-o", "toy")  # the name of a profile that ships is no file
        self.ok("predict", "run.json", "--gpu", "toy", "-o", "again.json")


# ---- merge ----

class Merge(Cli):
    def shard(self, name, shape, **changes):
        run = self.ok("predict", "--gpu", "toy", "--shape", shape, "--json").json()
        run.update(conditions={"gpu": "NVIDIA H200", "date": "2026-01-01T00:00:00Z", "gpu_uuid": name}, **changes)
        for case in run["cases"]:
            case["measurements"] = [{"time_s": 1e-3, "l2": "cold", "method": "activity", "stop_reason": "count"}]
        return self.write(name, run)

    def test_joins(self):
        one, two = self.shard("1.json", SINGLE), self.shard("2.json", MULTI)
        text = self.ok("merge", one, two, "-o", "run.json").out
        self.assertRegex(text, r"^2 documents, \d+ cases: \d+ measured, 0 not run\n$")
        both = json.loads((self.folder / "run.json").read_text())
        cases = [json.loads((self.folder / name).read_text())["cases"] for name in (one, two)]
        self.assertEqual(both["cases"], cases[0] + cases[1])
        self.assertEqual(both["conditions"]["gpu_uuid"], "1.json, 2.json")
        self.assertEqual(self.ok("merge", one, two).json(), both)
        self.assertEqual(self.ok("merge", one, "-", stdin=(self.folder / two).read_bytes()).json(), both)
        self.assertEqual(self.ok("merge", one, two, "--json", "-o", "again.json").json(), both)
        self.ok("report", "run.json", "-o", "page")

    def test_a_case_measured_twice(self):
        one, two = self.shard("1.json", SINGLE), self.shard("2.json", SINGLE)
        run = json.loads((self.folder / two).read_text())
        run["conditions"]["date"] = "2026-02-01T00:00:00Z"
        for case in run["cases"]:
            case["measurements"][0]["time_s"] = 2e-3
        self.write(two, run)
        problems = len(run["cases"])
        self.refused(3, ["merge", one, two, "-o", "run.json"], r"2\.json.*was run for 1\.json too.*--newest", problems=problems)
        newest = self.ok("merge", two, one, "--newest").json()
        self.assertEqual({c["measurements"][0]["time_s"] for c in newest["cases"]}, {2e-3})

    def test_shapes_by_their_ids(self):
        ids = self.ok("list", "--ids", "--shapes", self.write("shapes.txt", SINGLE + "\n" + MULTI + "\n" + SINGLE + "\n")).out.split()
        self.assertEqual(len(ids), 2)
        for id in ids:
            self.ok("predict", "--gpu", "toy", "--shapes", "shapes.txt", "--only", id, "-o", id + ".jsonl")
        self.ok("merge", *(id + ".jsonl" for id in ids), "-o", "all.json")
        both = json.loads((self.folder / "all.json").read_text())
        self.assertEqual({case["shape"] for case in both["cases"]}, set(ids))
        self.assertFalse([name for name in both["conditions"] if name.startswith("question")])
        self.refused(2, ["predict", "--shapes", "shapes.txt", "--only", ids[0][:-1], "--json"], "no shape of the question", ids[0], "list --ids")
        self.refused(2, ["predict", "--shapes", "shapes.txt", "--only", ids[0], "--shard", "1/2", "--json"], "both given")
        self.refused(2, ["predict", "--shapes", "shapes.txt", "--only", ids[0]], "--json")
        self.refused(2, ["run", "--only", ids[0]], "--only is a part of shapes")
        self.refused(2, ["list", "--shapes", "shapes.txt"], "--ids")

    def test_a_shard_that_is_cut_off(self):
        self.write("shapes.txt", "\n".join(f"n1c{c}h8w8k8r3s3" for c in (8, 16, 32, 64)))
        for shard in (1, 2):
            self.ok("predict", "--gpu", "toy", "--shapes", "shapes.txt", "--shard", f"{shard}/2", "-o", f"{shard}.jsonl")
        lines = (self.folder / "2.jsonl").read_text().splitlines()
        last = json.loads(lines[-1])["shape"]
        self.write("2.jsonl", "".join(line + "\n" for line in lines if json.loads(line).get("shape") != last))
        answer = self.answered(1, "merge", "1.jsonl", "2.jsonl", "-o", "all.jsonl")
        self.assertIn("1 of the 4 shapes that were asked are in no document", answer.err)

    def test_other_origins(self):
        one = self.shard("1.json", SINGLE)
        for changes, why in (({"producer": {"version": "0", "device_code_hash": "0", "measuring_code_hash": "0"}}, "other code"),
                             ({"profile_hash": "0" * 32}, "another profile")):
            self.refused(3, ["merge", one, self.shard("2.json", MULTI, **changes), "-o", "run.json"], r"2\.json", why,
                         *(["convcast compare 1.json 2.json"] if "code" in why else []))

    def test_words(self):
        one = self.shard("1.json", SINGLE)
        self.all_refused(2, [(["merge"], "two Run documents"), (["merge", one], "two Run documents"),
                             (["merge", "-", "-"], "twice"), (["merge", one, one, "--newst"], "did you mean '--newest'")])
        self.refused(3, ["merge", one, "nowhere.json"], r"nowhere\.json", "cannot be opened")


# ---- no GPU: 4 ----

class OwnKernels(Cli):
    """Kernels of the user's own, times measured elsewhere, and documents of lines; what needs a GPU is tested there."""

    SHAPE = "n1c64h56w56k64r3s3"
    EXAMPLE = SOURCE / "examples/own_kernel/four_filters.json"

    def test_work_that_is_none_is_exit_code_1(self):
        launch = json.loads(self.EXAMPLE.read_text())
        launch["work"]["instructions"] = "1"
        self.write("four_filters.json", launch)
        self.write("four_filters.cu", self.EXAMPLE.with_suffix(".cu").read_text())
        for output in ([], ["--json"], ["--format", "csv"]):
            result = self.answered(1, "predict", "--kernel", "four_filters.json", "--shape", self.SHAPE, "--strategy", "own", *output)
            self.assertIn("work: fmas are more than 32", result.out + result.err)

    def test_own_kernel_is_forecast_beside_ours(self):
        out = self.ok("predict", "--kernel", self.EXAMPLE, "--shape", self.SHAPE, "--strategy", "own", "--strategy", "winograd").out
        self.assertRegex(out, r"own:four_filters !\n")
        self.assertRegex(out, r"winograd\n")
        run = self.ok("predict", "--kernel", self.EXAMPLE, "--shape", self.SHAPE, "--strategy", "own", "--json").json()
        self.assertEqual([kernel["name"] for kernel in run["own_kernels"]], ["four_filters"])
        case, = run["cases"]
        self.assertEqual(case["baseline"], "own:four_filters")
        self.assertGreater(case["prediction"]["time_s"], case["prediction"]["times"]["tier0_s"])
        self.assertNotIn("plan", case["prediction"])
        again = self.ok("predict", self.write("run.json", run), "--json").json()
        self.assertEqual(again["cases"], run["cases"])

    def test_declared_work_is_marked_in_every_table(self):
        """Too little of it puts a kernel first: whoever reads the table is to know that nobody checked."""
        launch = json.loads(self.EXAMPLE.read_text())
        launch["source"] = str(self.EXAMPLE.with_suffix(".cu"))
        launch["work"] = {"instructions": "n * k * p * q * c * r * s / 32", "l2_read_bytes": "4 * n * c * h * w"}
        words = ["predict", "--kernel", self.write("little.json", launch), "--shape", self.SHAPE]
        remark = r"(?m)^! work declared by its author, not checked: where it is too little, so is the forecast$"
        for more in ([], ["--shape", "n1c64h28w28k64r3s3"], ["--shape", "n1c64h28w28k64r3s3", "--sms", "66,132"]):
            for columns in ("60", "100"):
                out = self.ok(*words, *more, env={"COLUMNS": columns}).out
                self.assertIn("own:four_filters !", out)
                self.assertRegex(re.sub(r"\n(?=where|not|so|the|forecast|it|little)", " ", out), remark)
        self.assertIn("assumed: work declared by its author, not checked", self.ok(*words, "--strategy", "own").out)
        row, = csv.DictReader(io.StringIO(self.ok(*words, "--strategy", "own", "--format", "csv").out))
        self.assertEqual((row["strategy"], row["reason"]), ("own:four_filters", "work declared by its author, not checked"))
        del launch["work"]
        self.write("little.json", launch)
        self.assertNotIn("!", self.ok(*words).out)

    def test_a_shape_that_it_does_not_do_has_the_reason(self):
        result = self.answered(1, "predict", "--kernel", self.EXAMPLE, "--shape", "n1c64h56w56k63r3s3", "--strategy", "own", "--json")
        self.assert_sentence(result.err, "own:four_filters is unsupported: ")
        self.assertEqual(result.json()["cases"][0]["status"], "unsupported")
        self.assertIn("k % 4 == 0", result.json()["cases"][0]["reason"])

    def test_what_does_not_compile_is_exit_code_1(self):
        self.write("broken.cu", "__global__ void broken(float *output) { none(); }\n")
        result = self.cli("predict", "--shape", self.SHAPE, "--kernel", "broken.cu", "--launch", "grid=1; block=32; arguments=output")
        if "note" in result.err:  # where there is a compiler
            self.assertEqual(result.code, 1, result.err)

    def test_launches_that_are_none(self):
        self.write("mine.cu", "__global__ void mine(float *output) {}\n")
        self.write("lost.json", {"schema": "convcast/kernel/1", "parameters": ["output"], "source": "lost\x01.cu", "grid": [1], "block": [32]})
        for words, code, needle in (
                (("--kernel", "mine.cu"), 2, "how is it launched"),
                (("--kernel", "mine.cu", "--launch", "grid=1; block=p q"), 2, "block: the expression 'p q'"),
                (("--kernel", "none.cu", "--launch", "grid=1; block=1"), 3, "none.cu"),
                (("--kernel", "mine.cu", "--launch", "grid=1; grid=2; block=1"), 2, "--launch: 'grid' stands there twice"),
                (("--kernel", "mine.cu", "--launch", "source=other.cu; grid=1; block=1"), 2, "--launch: 'source' is of launch files"),
                (("--kernel", "mine.cu", "--launch", "grid=1; block=1; parameters=output,float:x"), 2, "--kernel mine.cu: parameters: expected a number"),
                (("--kernel", "lost.json"), 3, "lost.json:6: /source: lost\x5cx01.cu: cannot be opened"),
                (("--launch", "grid=1; block=1"), 2, "--launch was given 1 times, --kernel FILE.cu 0 times"),
                (("--strategy", "own"), 2, "stands for the kernels of --kernel")):
            result = self.cli("predict", "--shape", self.SHAPE, *words)
            self.assertEqual((result.code, result.out), (code, ""), words)
            self.assert_sentence(result.err, re.escape(needle))

    def test_a_time_measured_elsewhere_is_shown_and_judges_nothing(self):
        document = self.ok("predict", "--shape", self.SHAPE, "--strategy", "winograd", "--json", "--time",
                           self.SHAPE + " cudnn_v7 12.3us").out
        case = json.loads(document)["cases"][-1]
        self.assertEqual((case["baseline"], case["measurements"][0]["method"]), ("elsewhere:cudnn_v7", "elsewhere"))
        self.assertRegex(self.ok("predict", "--shape", self.SHAPE, "--strategy", "winograd", "--time",
                                 self.SHAPE + " cudnn_v7 12.3us").out, r"12\.3 .*elsewhere:cudnn_v7")
        self.write("run.json", document)
        page = self.ok("report", "run.json", "--times", self.write("theirs.csv", "shape,name,time_us\n" + self.SHAPE + ",theirs,9.5\n"), "-o", "page")
        text = (self.folder / "page/page.html").read_text()
        self.assertIn("elsewhere:cudnn_v7", text)
        self.assertIn("elsewhere:theirs", text)
        statistics = self.ok("report", "run.json", "--times", "theirs.csv", "--json").json()
        self.assertNotIn("elsewhere", json.dumps(statistics.get("errors", [])))
        bad = self.answered(3, "report", "run.json", "--times", self.write("bad.csv", "shape,name,time\nx,a,1us\n"), "-o", "page")
        self.assert_sentence(bad.err, r"bad\.csv:2: ")

    def test_lines_are_read_by_every_verb(self):
        words = ("predict", "--shape", self.SHAPE, "--strategy", "winograd", "--strategy", "naive_global", "--json")
        whole = self.ok(*words).json()
        self.ok(*words[:-1], "-o", "run.jsonl")
        head, *cases = (self.folder / "run.jsonl").read_text().splitlines()
        self.assertNotIn("cases", json.loads(head))
        self.assertEqual(len(cases), 2)
        for case in whole["cases"]:
            del case["prediction"]["term"]
        self.assertEqual([json.loads(case) for case in cases], whole["cases"])
        self.ok("predict", "run.jsonl", "-o", "again.jsonl")
        self.assertEqual((self.folder / "again.jsonl").read_text().splitlines()[1:], cases)
        self.ok("merge", "run.jsonl", "again.jsonl", "-o", "merged.jsonl")
        self.assertEqual((self.folder / "merged.jsonl").read_text().splitlines()[1:], cases)
        self.ok("report", "run.jsonl", "-o", "page")
        (self.folder / "run.jsonl").write_text("\n".join([head, cases[0], cases[1].replace("naive_global", "naive_golbal")]))
        result = self.answered(1, "predict", "run.jsonl", "-o", "again.jsonl")
        self.assertIn("run.jsonl:3: /cases/1/strategy", result.err)
        self.assertIn("naive_golbal", (self.folder / "again.jsonl").read_text())

    def test_cases_that_cannot_be_read_are_said_once_a_document(self):
        self.ok("predict", "--shape", SINGLE, "--sweep", "n=1:9000:1", "--strategy", "naive_global", "-o", "run.jsonl")
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        for at in (5, 4500, 8900):  # a document is read in pieces of 4,096
            lines[at] = lines[at].replace("naive_global", "naive_golbal")
        (self.folder / "run.jsonl").write_text("\n".join(lines) + "\n")
        result = self.cli("predict", "run.jsonl", "-o", "again.jsonl")
        self.assertEqual(result.err.count("naive_golbal"), 3, result.err)
        self.assertEqual(re.findall(r"(\d+) of (\d+) cases cannot be read", result.err), [("3", "9000")])

    def test_forecasts_of_many_shapes_are_written_as_they_come(self):
        words = ("predict", "--shape", SINGLE, "--strategy", "naive_global", "--sweep")
        short, long = (self.peak_memory(*words, f"n=1:{count}:1", "-o", f"{count}.jsonl") for count in (1500, 6000))
        self.assertLess(long, 1.25 * short, "MiB: shapes are forecast in pieces")
        self.assertEqual(len((self.folder / "6000.jsonl").read_text().splitlines()), 6001)

    def test_an_archive_of_very_many_cases_holds_them_as_lines(self):
        self.ok("predict", "--shape", SINGLE, "--sweep", "n=1:6670:1", "--sweep", "k=1:3:1", "--strategy", "naive_global", "-o", "run.jsonl")
        self.assertLess(self.peak_memory("report", "run.jsonl", "--bundle", "all.tar"), 400, "MiB")
        with tarfile.open(self.folder / "all.tar") as archive:
            names = archive.getnames()
            self.assertIn("all/page.html", names)
            self.assertNotIn("all/run.json", names)
            self.assertEqual(archive.extractfile("all/run.jsonl").read(), (self.folder / "run.jsonl").read_bytes())
            self.assertIn("convcast predict run.jsonl --gpu", archive.extractfile("all/commands.txt").read().decode())

    def test_packed_lines_and_lines_are_the_same(self):
        words = ("predict", "--shape", self.SHAPE, "--strategy", "winograd", "--strategy", "naive_global", "--json", "-o")
        self.ok(*words, "run.jsonl")
        self.ok(*words, "run.jsonl.gz")
        plain = (self.folder / "run.jsonl").read_bytes()
        self.assertEqual(gzip.decompress((self.folder / "run.jsonl.gz").read_bytes()), plain)
        self.ok("predict", "run.jsonl.gz", "-o", "again.jsonl.gz")
        again = gzip.decompress((self.folder / "again.jsonl.gz").read_bytes())
        self.assertEqual(again.splitlines()[1:], plain.splitlines()[1:])
        whole = (self.folder / "run.jsonl.gz").read_bytes()
        (self.folder / "cut.jsonl.gz").write_bytes(whole[:-20])
        result = self.answered(3, "predict", "cut.jsonl.gz", "-o", "again.jsonl")
        self.assertIn("damaged or cut", result.err)

    def peak_memory(self, *words):
        """Of a command that must succeed, in MiB."""
        used = usage_of((BINARY, *words), self.folder)
        self.assertEqual(used.code, 0, used.said)
        return used.peak_bytes / 2**20

    def test_a_long_document_of_lines_is_forecast_in_the_memory_of_a_short_one(self):
        recording = RECORDED / "sweep_unseen.json.gz"
        make = [sys.executable, str(SOURCE / "tests" / "benchmark" / "many_cases.py"), str(recording)]
        for count, folder in (("5000", "short"), ("15000", "long")):
            subprocess.run([*make, count, str(self.folder / folder), "1", "--lines"], check=True)
        short, long = (self.peak_memory("predict", folder + "/part_1.jsonl", "-o", folder + "/forecast.jsonl")
                       for folder in ("short", "long"))
        self.assertLess(long, 1.25 * short, "MiB: a document is forecast in pieces")
        forecast = (self.folder / "long/forecast.jsonl").read_text().splitlines()
        self.assertEqual(len(forecast), 15001)
        self.assertEqual(forecast[1:5001], (self.folder / "short/forecast.jsonl").read_text().splitlines()[1:])
        # The same cases as JSON, which is read as a whole.
        subprocess.run([*make, "300", str(self.folder / "json"), "1"], check=True)
        self.ok("predict", "json/part_1.json", "-o", "json/forecast.json")
        whole = json.loads((self.folder / "json/forecast.json").read_text())["cases"]
        for case in whole:
            case.get("prediction", {}).pop("term", None)
        self.assertEqual([json.loads(line) for line in forecast[1:301]], whole)

    def test_choices_for_many_shapes_are_written_as_they_come(self):
        shapes = "\n".join(f"n{n}c8h14w14k32r3s3" for n in range(1, 6))
        self.write("shapes.txt", shapes + "\n")
        words = ("choose", "--shapes", "shapes.txt", "--top", "2", "--json", "-o")
        self.ok(*words, "chosen.json")
        self.ok(*words, "chosen.jsonl")
        whole = json.loads((self.folder / "chosen.json").read_text())
        for case in whole["cases"]:
            del case["prediction"]["term"]
        head, *cases = (self.folder / "chosen.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(case) for case in cases], whole.pop("cases"))
        self.assertEqual(json.loads(head), whole)

    def test_the_page_of_very_many_cases_shows_some_and_counts_all(self):
        recording = RECORDED / "sweep_unseen.json.gz"
        subprocess.run([sys.executable, str(SOURCE / "tests" / "benchmark" / "many_cases.py"), str(recording), "21000",
                        str(self.folder / "many"), "1", "--lines"], check=True)
        said = subprocess.run([BINARY, "report", "many/part_1.jsonl", "-o", "page"], cwd=self.folder, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=600).stdout
        page = (self.folder / "page/page.html").read_text()
        self.assertRegex(page, r"This page shows \d+ of 21000 cases one by one")
        self.assertLess(len(page), 16e6)
        packed = re.search(r'<script type="text/plain" data-page="cases">(.*?)</script>', page, re.S).group(1)
        shown = json.loads(gzip.decompress(base64.b64decode(packed)))
        count = len(shown["predicted"])
        self.assertLess(count, 12000)
        named = [int(i) for text in re.findall(r'data-cases?="([\d,]*)"', page) for i in text.split(",") if i]
        self.assertLess(max(named), count)
        with open(self.folder / "page/figures/predicted_vs_measured.csv") as file:
            rows = sum(1 for _ in file) - 1
        self.assertEqual(rows, int(re.search(r"Over (\d+) measured cases", said).group(1)))
        self.assertGreater(rows, count)


class NoGpu(Cli):
    def test_what_needs_a_gpu_says_what_to_do(self):
        self.write("run.json", self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out)
        self.all_refused(4, [(words, NO_GPU) for words in (
            ["measure"], ["measure", "-o", "gpu.json"], ["measure", "--raw", "raw.json", "-o", "gpu.json", "--json"],
            ["measure", "--only", "sm_clock"], ["run", "--shape", SINGLE], ["run", "run.json"], ["run", "run.json", "--json"],
            ["run", "--shape", SINGLE, "--strategy", "cudnn", "--require-counters"], ["run", "run.json", "--gpu", "toy"])])

    def test_what_needs_none_works(self):
        self.assertRegex(self.ok("measure", "--list").out, r"(?m)^sm_clock ")
        self.assertEqual(self.cli("measure", "--only", "nothing").code, 2, "the command line is read before a GPU is looked for")
        raw = RECORDED / "samples.json"
        if raw.exists():
            self.assertEqual(self.cli("measure", "--from-raw", raw, "--id", "mine", "-o", "mine.json").code, 0)
            self.ok("predict", "--gpu", "mine.json", "--shape", SINGLE)

    def test_the_list_of_probes(self):
        for columns in (60, 120):
            text = self.ok("measure", "--list", env={"COLUMNS": str(columns)}).out
            self.assertRegex(text, r"(?m)^sm_clock +Which SM clock")
            self.assertRegex(text, r"(?m)^ +-> constant_l1_latency\s+constant_l2_latency")
            self.assertLessEqual(max(map(len, text.splitlines())), columns)

    def samples(self, **changes):
        raw = RECORDED / "samples.json"
        if not raw.exists():
            self.skipTest("no recorded samples")
        return self.write("samples.json", {**json.loads(raw.read_text()), **changes})

    def test_samples_of_other_probes_are_said(self):
        file = self.samples(conditions={"probes": "0" * 32})
        result = self.answered(0, "measure", "--from-raw", file)
        if "other probes" in result.out:  # a build without CUDA has no probes to compare with
            self.assertRegex(result.out, r"other\s+probes \(" + "0" * 32 + r"[\s\S]*measure\s+anew")
        self.ok("measure", "--from-raw", self.samples(conditions={}))

    def test_the_summary_fits_the_window(self):
        text = self.cli("measure", "--from-raw", self.samples(failed={"half_rate": "out of registers"}), env={"COLUMNS": "60"}).out
        self.assertRegex(text, r"(?m)^dram_read_bandwidth +4\.\d+ +TB/s")
        table = text.split("\n\n")[0]
        self.assertLessEqual(max(map(len, table.splitlines())), 60)

    def test_strict(self):
        sound = self.samples(failed={})
        self.assertEqual(self.cli("measure", "--from-raw", sound).code, 0)
        failed = self.samples(failed={"half_rate": "out of registers"})
        self.assertEqual(self.cli("measure", "--from-raw", failed).code, 0)
        result = self.answered(6, "measure", "--from-raw", failed, "--strict", "-o", "p.json")
        self.assertRegex(result.err, "note: not trustworthy.*probe half_rate")
        self.assertTrue((self.folder / "p.json").exists(), "the profile is written all the same")

    def test_resume_needs_what_it_goes_on_with(self):
        self.refused(2, ["measure", "--resume"], "--raw FILE")
        self.refused(3, ["measure", "--resume", "--raw", "nowhere.json"], r"nowhere\.json", "No such file")
        self.refused(3, ["measure", "--resume", "--raw", self.write("bad.json", "{}")], r"bad\.json", "convcast/samples/1")
        self.refused(4, ["measure", "--resume", "--raw", self.samples()], NO_GPU)
        for other in (["--raw", "x.json"], ["--only", "sm_clock"], ["--device", "1"]):
            self.refused(2, ["measure", "--from-raw", "samples.json", *other], "--from-raw", other[0])

    def test_doctor(self):
        text = self.ok("doctor").out
        self.assertRegex(text, r"(?m)^works +predict, choose, report")
        self.assertRegex(text, r"(?m)^absent +(GPU and driver|CUDA toolkit at build time)")
        absent = [line for line in re.sub(r"\n {8,}", " ", text).splitlines() if line.startswith("absent")]
        self.assertTrue(any(re.search(NO_GPU, line) for line in absent), text)

    def test_doctor_json(self):
        findings = self.ok("doctor", "--json").json()
        for finding in findings:
            self.assertEqual(set(finding), {"what", "health", "detail"})
            self.assertIn(finding["health"], ("works", "absent", "broken"))
            self.assertNotEqual(finding["detail"], "")
        self.assertTrue(any(f["health"] == "absent" and re.search(NO_GPU, f["detail"]) for f in findings))
        for word in ("predict", "choose", "report"):
            self.assertIn(word, findings[0]["what"])

    def test_doctor_tries_the_kernel_cache(self):
        findings = self.ok("doctor", "--json", env={"XDG_CACHE_HOME": "/dev/null/nowhere"}).json()
        cache = [f for f in findings if f["what"] == "kernel cache"]
        if not cache:
            self.skipTest("a build without CUDA has no kernel cache")
        self.assertNotEqual((cache[0]["health"], cache[0]["detail"]), ("works", "/dev/null/nowhere/convcast"))

    def measured_document(self, **producer):
        """As if recorded here, or by other code."""
        run = self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").json()
        run["producer"].update(producer)
        for case in run["cases"]:
            case["measurements"] = [{"time_s": 1e-3, "l2": "cold", "method": "activity", "stop_reason": "count"}]
        return run

    def test_other_codes_numbers_are_not_mixed_in(self):
        for part in ("device_code_hash", "measuring_code_hash"):
            self.write("old.json", self.measured_document(**{part: "0" * 32}))
            for words in (["run", "--resume", "old.json", "--gpu", "toy", "--shape", SINGLE, "-o", "new.json"],
                          ["run", "--resume", "old.json", "-o", "old.json"], ["run", "old.json", "-o", "old.json"]):
                self.refused(3, words, r"old\.json", "other code", "anew")

    def test_another_profiles_numbers_are_not_mixed_in(self):
        self.write("old.json", self.measured_document())
        self.refused(3, ["run", "--resume", "old.json", "--gpu", "k40m", "--shape", SINGLE], r"old\.json", "'toy'", "--gpu FILE")
        run = self.measured_document()
        run["profile_hash"] = "0" * 32
        self.refused(2, ["run", self.write("other.json", run)], "'toy'", "--gpu FILE")
        run["profile_id"] = "mine"
        self.refused(2, ["run", self.write("other.json", run)], "'mine'", "--gpu FILE")

    def test_exact_work_is_of_the_kernels_that_were_measured(self):
        other = self.measured_document(measuring_code_hash="0" * 32)  # of the counts only the kernels matter
        other["profile_hash"] = "0" * 32
        for case in other["cases"]:
            del case["prediction"]
        self.write("old.json", other)
        self.refused(4, ["run", "old.json", "--exact-work", "-o", "old.json"], NO_GPU)
        self.refused(4, ["run", "old.json", "--exact-work", "--shard", "1/2", "-o", "new.json"], NO_GPU)
        self.refused(3, ["run", "old.json", "-o", "old.json"], r"old\.json", "other code")
        self.refused(3, ["run", "old.json", "--exact-work", "--timeline"], r"old\.json", "other code")
        self.refused(2, ["run", "old.json", "--exact-work", "--no-counters"], "--exact-work and --no-counters")
        other["conditions"] = {"sms": "4"}
        self.refused(2, ["run", self.write("part.json", other), "--exact-work"], "--exact-work", "part of the SMs")
        self.write("other.json", self.measured_document(device_code_hash="0" * 32))
        self.refused(3, ["run", "other.json", "--exact-work"], r"other\.json", "other kernels")

    def test_exact_work_leaves_no_case_open_of_other_code(self):
        run = self.measured_document(measuring_code_hash="0" * 32)
        run["cases"][1].update(measurements=[], status="not_run", reason="interrupted")
        self.refused(3, ["run", self.write("old.json", run), "--exact-work"], r"old\.json", "other code")

    def test_a_document_is_forecast_again_and_keeps_what_was_measured(self):
        again = self.ok("predict", self.write("old.json", self.measured_document()), "--gpu", "toy").json()
        old = self.measured_document()
        for case in again["cases"]:
            for measurement in case.get("measurements", []):
                self.assertGreater(measurement.pop("rates")["flop_per_s"], 0)
        self.assertEqual([case.get("measurements") for case in again["cases"]],
                         [case.get("measurements") for case in old["cases"]])
        self.assertIn("again, by version", again["conditions"]["forecast"])

    def test_a_measured_document_survives_a_machine_without_gpu(self):
        self.write("old.json", self.measured_document())
        self.refused(4, ["run", "old.json", "-o", "old.json"], NO_GPU)
        self.refused(4, ["run", "--resume", "old.json", "-o", "old.json"], NO_GPU)
        before = self.files()
        result = self.cli("run", "--resume", "old.json", "--gpu", "toy", "--shape", MULTI, "-o", "old.json")
        self.assertEqual((result.code, result.out, self.files()), (4, "", before))
        measured = sum("measurements" in case for case in self.measured_document()["cases"])
        self.assertIn(f"note: {measured} measured cases taken over from old.json\n", result.err)

    def test_no_document_is_written_without_gpu(self):
        self.refused(4, ["run", "--shape", SINGLE, "-o", "new.json"], NO_GPU)

    def test_resume_takes_the_cases_of_its_file(self):
        self.write("run.json", self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out)
        self.refused(4, ["run", "--resume", "run.json", "-o", "run.json"], NO_GPU)  # as docs/cli/run.md has it

    def test_what_is_said_as_lines_of_json(self):
        answer = self.cli("run", "--shape", SINGLE, "--progress", "json")
        said = [json.loads(line) for line in answer.err.splitlines()]
        self.assertRegex(said[-1]["says"], NO_GPU)
        self.assertRegex(said[-1]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.refused(2, ["run", "--shape", SINGLE, "--progress", "xml"], "text|json")

    def test_a_forecast_alone_is_not_a_finished_case(self):
        self.write("run.json", self.ok("predict", "--gpu", "toy", "--shape", SINGLE, "--json").out)
        self.assertRegex(self.cli("run", "--gpu", "toy", "--shape", SINGLE, "--resume", "run.json").err, "note: 0 measured cases")

    def test_shards_are_checked_before_a_gpu_is_looked_for(self):
        for text in ("", "0/2", "3/2", "1", "1/2/3", "a/b"):
            self.assertEqual(self.cli("run", "--shape", SINGLE, "--shard", text).code, 2, text)
        self.refused(4, ["run", "--shape", SINGLE, "--shard", "2/3"], NO_GPU)
        self.write("old.json", self.measured_document())
        for words in (["run", "--resume", "old.json", "--shard", "1/2", "-o", "old.json"],
                      ["run", "old.json", "--shard", "1/2", "-o", "old.json"]):
            self.refused(2, words, "--shard", "other shards' cases", "-o")

    def test_a_documents_unknown_names_are_found_in_their_place(self):
        for kind, name, known in (("strategy", "filtr_split", "filter_split"), ("baseline", "cudnn:gem", "cudnn:gemm")):
            run = self.measured_document()
            del run["cases"][1]["strategy"]
            run["cases"][1].update({kind: name, "measurements": []})
            result = self.answered(4, "run", self.write("run.json", run), "--gpu", "toy", out="")
            self.assertRegex(result.err, rf"run\.json:[0-9]+: /cases/1/{kind}.*did you mean '{known}'")


def load_tests(loader, tests, pattern):
    """Every N-th test from the I-th on, where --part I/N asks for a part of them."""
    part, parts = PART
    every = [test for suite in tests for test in (suite if isinstance(suite, unittest.TestSuite) else [suite])]
    return unittest.TestSuite(every[part - 1::parts])


def main():
    global BINARY, UPDATE, PART
    words = sys.argv[1:]
    if not words or words[0].startswith("-") or not os.access(words[0], os.X_OK):
        print(__doc__, file=sys.stderr)
        return 2
    BINARY = os.path.abspath(words.pop(0))
    UPDATE = "--update" in words
    if "--part" in words:
        at = words.index("--part")
        PART = tuple(int(number) for number in words[at + 1].split("/"))
        del words[at:at + 2]
    return run_unittest([w for w in words if w != "--update"])


if __name__ == "__main__":
    sys.exit(main())
