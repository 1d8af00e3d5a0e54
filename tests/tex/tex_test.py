#!/usr/bin/env python3
"""Compiles the figures of recorded runs with pdflatex: all of them in a column of the first class that is installed, and in each other
one of every kind. The classes are IEEEtran, acmart and a plain two-column article.

usage: tex_test.py BINARY
Fails where TeX reports an error, or a box that is wider than its column. Classes that are not installed are left out; exit
code 77 where pdflatex or pgfplots is missing. PDFLATEX names another program to run.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
from skips import skipped  # noqa: E402

CLASSES = {
    "IEEEtran": ("conference", ""),
    "acmart": ("sigconf,nonacm", r"\title{T}\author{A}\affiliation{\institution{I}\country{C}}\maketitle"),
    "article": ("twocolumn", ""),
}
RUNS = ("chang", "boundaries")


def tex(folder, name, text):
    """Compiles a document; its log, or None where a file of TeX's is missing."""
    (folder / f"{name}.tex").write_text(text)
    subprocess.run([os.environ.get("PDFLATEX", "pdflatex"), "-interaction=nonstopmode", f"{name}.tex"], cwd=folder,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600, check=False)
    log = folder / f"{name}.log"
    said = log.read_text(errors="replace") if log.exists() else ""
    return None if not said or re.search(r"File `[^']+\.(cls|sty)' not found", said) else said


def document(name, figures):
    options, front = CLASSES[name]
    floats = "".join(r"\begin{figure}[p]\typeout{FIGURE %s}\input{%s}\end{figure}\clearpage" % (f.stem, f.name) + "\n"
                     for f in figures)
    return (r"\documentclass[%s]{%s}\usepackage{pgfplots}\pgfplotsset{compat=1.17}\usepackage{graphicx}"
            r"\begin{document}%s%s\end{document}" % (options, name, front, "\n" + floats))


def of_each_kind(figures):
    """Of the figures whose names begin with the same two words, one: they differ in their data alone."""
    return list({tuple(figure.stem.split("_")[:2]): figure for figure in reversed(figures)}.values())


def left_out(document, name):
    skipped(f"tex_test.{document}.{name}", f"TeX's class {name} or a package that it uses is not installed",
            *{"IEEEtran": ["texlive-publishers", "texlive-fonts-recommended"], "acmart": ["texlive-publishers", "texlive-fonts-extra"],
              "article": ["texlive-pictures"]}[name])


def tutorial(binary):
    """What is wrong with the document of docs/tutorials/paper_figure.md, in both classes that it names."""
    page = (SOURCE / "docs" / "tutorials" / "paper_figure.md").read_text()
    shown = re.search(r"(?s)```tex\n(.*?)```", page)[1]
    acm = re.search(r"`(\\documentclass[^`]*acmart})`", page)[1]
    failed, compiled = [], 0
    for name, text in (("IEEEtran", shown), ("acmart", re.sub(r"\\documentclass\S*", lambda _: acm, shown, count=1))):
        with tempfile.TemporaryDirectory(prefix="convcast_tex_", dir=os.environ.get("TEX_FOLDER")) as folder:
            folder = pathlib.Path(folder)
            subprocess.run([binary, "report", SOURCE / "data" / "recorded" / "h200" / "chang.json.gz", "--figure", "error_cdf",
                            "--width", "column", "-o", folder / "error_cdf.tex"], stdout=subprocess.DEVNULL, check=True, timeout=600)
            said = tex(folder, "paper", text)
            if said is None:
                left_out("tutorial", name)
                continue
            compiled += 1
            failed += [f"tutorial, {name}: {problem}" for problem in re.findall(r"^(?:!.*|Overfull \\hbox.*)", said, flags=re.M)]
            if "no output PDF file" in said:
                failed.append(f"tutorial, {name}: TeX gave up")
            print(f"tutorial, {name}: compiled")
    return failed, compiled


def appendix(binary):
    """What is wrong with the artifact's appendix by itself, where it has two pages at most, and as a part of other documents."""
    failed, compiled = [], 0
    with tempfile.TemporaryDirectory(prefix="convcast_tex_", dir=os.environ.get("TEX_FOLDER")) as folder:
        artifact = pathlib.Path(folder) / "artifact"
        subprocess.run([binary, "reproduce", "all", "--artifact", artifact], stdout=subprocess.DEVNULL, check=True, timeout=600)
        documents = {"appendix": (artifact / "appendix.tex").read_text()}
        for name, (options, front) in CLASSES.items():
            documents[name] = r"\documentclass[%s]{%s}\begin{document}%s\appendix\input{appendix_body}\end{document}" % (options, name, front)
        for name, text in documents.items():
            said = tex(artifact, f"in_{name}", text)
            if said is None:
                left_out("appendix", name if name in CLASSES else "article")
                continue
            compiled += 1
            failed += [f"appendix in {name}: {problem}" for problem in re.findall(r"^(?:!.*|Overfull \\hbox.*)", said, flags=re.M)]
            pages = re.search(r"Output written on [^(]*\((\d+) pages?", said)
            if pages is None or int(pages[1]) > 2:
                failed.append(f"appendix in {name}: {pages[0] if pages else 'no output'}; expected at most 2 pages")
            print(f"appendix in {name}: compiled")
    return failed, compiled


def main():
    if shutil.which(os.environ.get("PDFLATEX", "pdflatex")) is None:
        skipped("tex_test", "pdflatex is not installed", "texlive-fonts-recommended", "texlive-latex-recommended", "texlive-pictures",
                "texlive-publishers")
        return 77
    failed, tried = appendix(sys.argv[1])
    more, compiled = tutorial(sys.argv[1])
    failed, tried = failed + more, tried + compiled
    for run in RUNS:
        with tempfile.TemporaryDirectory(prefix="convcast_tex_", dir=os.environ.get("TEX_FOLDER")) as folder:
            folder = pathlib.Path(folder)
            subprocess.run([sys.argv[1], "report", SOURCE / "data" / "recorded" / "h200" / f"{run}.json.gz", "-o", folder],
                           stdout=subprocess.DEVNULL, check=True, timeout=600)
            figures = sorted(f for f in (folder / "figures").glob("*.tex") if "includegraphics" not in f.read_text())
            assert figures, f"{run}: no figures"
            shown = figures
            for name in CLASSES:
                said = tex(folder / "figures", f"all_{name}", document(name, shown))
                if said is None:
                    left_out(run, name)
                    continue
                tried += 1
                for figure in re.split(r"^FIGURE ", said.replace("\r", ""), flags=re.M)[1:]:
                    for problem in re.findall(r"^(?:!.*|Overfull \\hbox.*)", figure, flags=re.M):
                        failed.append(f"{run}, {name}, {figure.split()[0]}: {problem}")
                if "Emergency stop" in said or "no output PDF file" in said:
                    failed.append(f"{run}, {name}: TeX gave up")
                print(f"{run}, {name}: {len(shown)} figures")
                shown = of_each_kind(figures)
    print("\n".join(failed))
    return 1 if failed else 0 if tried else 77


sys.exit(main())
