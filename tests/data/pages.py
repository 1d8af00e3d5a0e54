"""What the tools of this folder share: reading recordings, asking convcast, and keeping blocks of docs true.

A block of a page stands between "<!-- NAME -->" and the next "<!-- end". A tool computes what is to stand there; without --update
it is a test, which names the first line that differs.
"""
import gzip
import json
import math
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECORDED = SOURCE / "data" / "recorded"
DOCS = SOURCE / "docs"
README = SOURCE / "README.md"


def read(path):
    """A JSON document, packed (.gz) or not."""
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_text())


def output(binary, *words):
    """What convcast prints; the end of this program where it fails."""
    result = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"convcast {' '.join(map(str, words))} failed: {result.stderr}")
    return result.stdout


def answer(binary, *words):
    return json.loads(output(binary, *words, "--json"))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def geomean(values):
    return math.exp(mean(map(math.log, values)))


def micro(seconds):
    """Three digits of microseconds, a dash of none."""
    if seconds is None:
        return "–"
    us = seconds * 1e6
    return f"{us:,.0f}" if us >= 99.95 else f"{us:.1f}"


def table(head, rows, rule="---"):
    """In Markdown; `rule` stands in each cell below the head."""
    line = lambda cells: "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in cells)
    return "\n".join([line(head), "|" + f"{rule}|" * len(head), *map(line, rows)])


def with_block(page, text, name, block):
    """The text of a page with another block of this name."""
    begin, end = f"<!-- {name} -->\n", "\n<!-- end"
    if begin not in text:
        sys.exit(f"{page.relative_to(SOURCE)} has no {begin.strip()}")
    at = text.index(begin) + len(begin)
    return text[:at] + block + text[text.index(end, at):]


def keep(texts, update):
    """Holds pages to their texts, or writes these with `update`."""
    for page, text in texts.items():
        shipped = page.read_text(encoding="utf-8")
        if update:
            page.write_text(text, encoding="utf-8")
        elif text != shipped:
            both = zip((text + "\n\n").split("\n"), (shipped + "\n\n").split("\n"))
            number, (ours, there) = next((number, lines) for number, lines in enumerate(both, 1) if lines[0] != lines[1])
            sys.exit(f"{page.relative_to(SOURCE)}:{number}: expected\n  {ours}\ngot\n  {there}\n{pathlib.Path(sys.argv[0]).name} with --update "
                     "writes it anew")


def keep_blocks(blocks, update):
    """The same of (page, name of a block, its text)."""
    texts = {page: page.read_text(encoding="utf-8") for page, *_ in blocks}
    for page, name, block in blocks:
        texts[page] = with_block(page, texts[page], name, block)
    keep(texts, update)
