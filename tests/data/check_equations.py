#!/usr/bin/env python3
"""Holds docs/equations.md against the code: ids, functions, tests and links.

    check_equations.py      exit code 1 names
                            - an id that a comment of model/, or docs/model.md, evidence.md or constants.md, cites and
                              docs/equations.md does not have,
                            - an id of docs/equations.md that no comment of model/ cites,
                            - an entry without a function or a test, or with one that model/ or tests/ does not have,
                            - a section of docs/evidence.md without an equation, a link to a section that is not there,
                            - a figure that is not what docs/figures/draw.py draws.

An id is one or two letters and a number, as in F5 or Th1: the heading of an entry, or bold in a table's first column.
A comment may cite a range, "F1 to F4". model/base has no equations.
"""
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "equations.md"
EVIDENCE = ROOT / "docs" / "evidence.md"
CITING_PAGES = ["model.md", "evidence.md", "constants.md", "add_a_strategy.md", "regimes.md"]
NO_EQUATIONS = ["base"]

ENTRY = re.compile(r"^#### ([A-Z][a-z]?\d+)\b", re.M)
ROW = re.compile(r"^\| \*\*([A-Z][a-z]?\d+)\*\* \|", re.M)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(//[^\n]*|/\*.*?\*/)', re.S)
CODE = re.compile(r"Code:\s((?:`\w+`(?:,\s)?)+)")
TEST = re.compile(r"Test:\s((?:`\w+\.\w+`(?:,\s)?)+)")
TEST_DEFINITION = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)


def entries(text):
    """id -> the text of its entry. Rows of a table share the paragraph before the table, or their own last cell."""
    out = {}
    for part in re.split(r"(?=^#### )|(?=^#{1,3} )", text, flags=re.M):
        if head := ENTRY.match(part):
            out[head.group(1)] = part
    for row in ROW.finditer(text):
        before = text[:row.start()].rstrip("\n").split("\n\n")
        paragraph = " ".join(before[-2:])
        line = text[row.start():text.index("\n", row.start())]
        cell = line.rstrip(" |").split("|")[-1].strip()
        out[row.group(1)] = paragraph + (f" Code: {cell}." if cell.startswith("`") else "")
    return out


def cited(text, known):
    """Ids that a text cites, ranges resolved: of the letters that the page uses."""
    letters = "|".join(sorted({re.sub(r"\d", "", one) for one in known}, key=len, reverse=True))
    out = set()
    for match in re.finditer(rf"\b({letters})(\d+)(?:\s*(?:to|–)\s*(?:{letters})(\d+))?\b", text):
        letter, first, last = match.groups()
        ids = [f"{letter}{number}" for number in range(int(first), int(last or first) + 1)]
        out.update([one for one in ids if one in known] if last else ids)
    return out


def comments(source):
    """The comments of a source, the marks of continued lines taken away."""
    found = [match.group(1) for match in COMMENT.finditer(source) if match.group(1)]
    return re.sub(r"\n\s*///?<?\s*", " ", "\n".join(found))


def anchors(text):
    """GitHub's anchors of a page's headings."""
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def problems():
    text = PAGE.read_text(encoding="utf-8")
    page = entries(text)
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "model").rglob("*.[ch]pp"))
               if path.parent.name not in NO_EQUATIONS}
    everywhere = set()
    for path, source in sources.items():
        its = cited(comments(source), page)
        everywhere |= its
        for one in sorted(its - set(page)):
            yield f"{path.relative_to(ROOT)}: cites {one}, which docs/equations.md does not have"
    for one in page:
        if one not in everywhere:
            yield f"docs/equations.md: no comment of model/ cites {one}"
    for name in CITING_PAGES:
        for one in sorted(cited((ROOT / "docs" / name).read_text(encoding="utf-8"), page) - set(page)):
            yield f"docs/{name}: cites {one}, which docs/equations.md does not have"

    tests = {f"{suite}.{name}" for path in (ROOT / "tests").rglob("*_test.cpp")
             for suite, name in TEST_DEFINITION.findall(path.read_text(encoding="utf-8"))}
    code = "\n".join(sources.values())
    for one, entry in page.items():
        functions = [name for match in CODE.finditer(entry) for name in re.findall(r"\w+", match.group(1))]
        held_by = [name for match in TEST.finditer(entry) for name in re.findall(r"\w+\.\w+", match.group(1))]
        if not functions:
            yield f"docs/equations.md: {one} names no function, as in \"Code: `wave_term`\""
        if not held_by:
            yield f"docs/equations.md: {one} names no test, as in \"Test: `Term.EveryKindByHand`\""
        for name in functions:
            if not re.search(rf"\b{name}\(", code):
                yield f"docs/equations.md: {one}: model/ has no function {name}"
        for name in held_by:
            if name not in tests:
                yield f"docs/equations.md: {one}: tests/ has no test {name}"

    evidence = EVIDENCE.read_text(encoding="utf-8")
    for one in ENTRY.findall(evidence):
        if one not in page:
            yield f"docs/evidence.md: {one} is no equation of docs/equations.md"
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for file, anchor in re.findall(r"\]\(([\w./]*\.md)?#([\w-]+)\)", path.read_text(encoding="utf-8")):
            target = path.parent / file if file else path
            if not target.is_file() or anchor not in anchors(target.read_text(encoding="utf-8")):
                yield f"{path.relative_to(ROOT)}: nothing is at {file}#{anchor}"
        for file in re.findall(r"\]\(([\w./]+\.(?:md|svg|csv))\)", path.read_text(encoding="utf-8")):
            if not (path.parent / file).is_file():
                yield f"{path.relative_to(ROOT)}: there is no {file}"

    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "figures" / "draw.py")
    draw = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(draw)
    yield from draw.problems()


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) or "docs/equations.md and the code have the same equations")
    sys.exit(1 if found else 0)
