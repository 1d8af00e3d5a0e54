#!/usr/bin/env python3
"""Counts the numbers that a forecast contains and that no probe gives, and keeps docs/constants.csv true.

    count_constants.py            compares docs/constants.csv and docs/constants.md with model/, data/architectures,
                                  data/facts and data/calibration; exit code 1 says what is new, gone or changed
    count_constants.py --update   writes both anew; a constant that is new gets the category "?", which the
                                  comparison refuses until a person has said where the number comes from

What counts as a constant of the forecast: in the sources of model/ but those of NO_FORECAST, each number with a
decimal point or an exponent, and each whole number that a constexpr name stands for or that is no power of two.
Not listed: 0, 1, 2 and 3 without a name; powers of two in whole-number arithmetic, which are tiles, widths and
alignments; and without a name 4.0 (bytes of a float), 32.0 (lanes of a warp), 128.0 (bytes of a line), 1e6 and 1e9
(units of what is printed). A number is told by its file, the name it initialises or else the function it stands in,
and its value, so that moving a line changes nothing.

The numbers of data/architectures/sm_90.json are counted as well, by the category that each has there: but
for its limits, which a profile has itself, and zeros.
"""
import collections
import csv
import re
import sys

import pages
from pages import SOURCE as ROOT

LIST = pages.DOCS / "constants.csv"
TEXT = pages.DOCS / "constants.md"
SAY_IT_TOO = ["docs/results.md", "docs/model.md", "docs/report.md"]  # the sentence of the counts

ARCHITECTURE = "data/architectures/sm_90.json"

# Folders and files of model/ whose numbers enter no time of a convolution: they read, write, print, draw shapes, fit or
# compare. onnx, gpu_memory: what a file says, and what fits. rung_*, count_work, kernel_work: the forecast of rungs, whose numbers docs/ladders.md names. scaling*: that of training
# over several GPUs (docs/constants.md). network_run: the document of both.
NO_FORECAST = {"base", "shape", "regime", "record", "architecture.cpp", "assume", "calibration.cpp", "compare", "facts.cpp", "reference.cpp", "network.cpp", "ladder", "idx.cpp", "training.hpp", "training.cpp", "split_mix.hpp", "fit.cpp", "fit.hpp", "adapted", "formula",
               "knowledge", "profile", "timeline", "why", "kernel_work", "count_work", "rung_forecast",
               "schedule_text", "network_run", "scaling", "scaling_forecast", "onnx", "gpu_memory"}

CATEGORIES = {
    "code": "read off the source or the machine code of our kernels",
    "counters": "read off counters of recorded calls, of all shapes",
    "times": "read off times, stamps or clocks of recorded calls",
    "given": "vendor's, published, or assumed",
    "kernel": "what a kernel is made of or its plan chooses: tiles, unrolling, limits of a search",
    "definition": "units, formats, mathematics",
}
READ_OFF = ["code", "counters", "times", "given"]  # what a forecast owes to the kernels' or the chip's observation

NUMBER = re.compile(r"(?<![\w.])(\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w.])")


def without_text(source):
    """The source without comments, strings, directives, strategies' places in lists and operators' numbers of operations, which
    are printed and enter no time; its lines in place."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^#[^\n]*|\bAbout about\{[^}]*\}|\beach<\d+>', blank, source, flags=re.S | re.M)


def constants_of(path):
    """(name, value) of each constant of a file, in its order."""
    text = without_text(path.read_text())
    functions = [(m.start(), m.group(1))
                 for m in re.finditer(r"^(?! )[^\n;{}=]*?\b(\w+)\([^;{}]*?\{$", text, re.M)]
    out = []
    for match in NUMBER.finditer(text):
        begin = max(text.rfind(c, 0, match.start()) for c in ";{}")
        statement = text[begin + 1:match.start()]
        names = re.findall(r"\b(\w+)\s*=(?!=)", statement)
        exact = re.search(r"\w = -?$|[?:] -?$", statement) is not None  # it stands for the name by itself
        named = "constexpr" in statement and bool(names)
        value = match.group(1).replace("'", "")
        number = float(value)
        if "." in value or "e" in value.lower():
            listed = number not in (0, 1, 4, 32, 128, 1e6, 1e9) or exact and number > 1 or named and exact and number == 1
        else:
            listed = number > 3 and (named or int(number) & (int(number) - 1) != 0)
        if listed:
            function = next((name for start, name in reversed(functions) if start < match.start()), path.stem)
            out.append((names[-1] if names else function, value))
    return out


def found():
    out = []
    for path in sorted((ROOT / "model").rglob("*.[ch]pp")):
        if not {path.parent.name, path.stem, path.name} & NO_FORECAST:
            out += [(str(path.relative_to(ROOT)), name, value) for name, value in constants_of(path)]
    return out


def listed():
    """Of docs/constants.csv: (file, name, value) -> its rows' (unit, category), as often as it stands there."""
    rows = collections.defaultdict(list)
    with open(LIST, newline="") as file:
        for row in csv.DictReader(file):
            rows[row["file"], row["name"], row["value"]].append((row["unit"], row["category"]))
    return rows


def of_architecture():
    """(file, name, value) -> (unit, category) of each number of the architecture, as `listed` gives those of sources."""
    category_of = {"vendor": "given", "probe": "given", "assumed": "given", "counted": "counters", "read_off_times": "times"}
    rows = collections.defaultdict(list)
    for name, field in pages.read(ROOT / ARCHITECTURE).items():
        if isinstance(field, dict) and name != "limits":
            for value in field.get("values", [field.get("value")]):
                if value != 0:
                    rows[ARCHITECTURE, name, str(value)].append((field["unit"], category_of[field["category"]]))
    return rows


def regressed():
    """Coefficients of data/facts by kind: those at the bound of the regression, 0, and those of a default count
    as none; what the variants of a kernel share counts once."""
    facts = pages.read(ROOT / "data" / "facts" / "sm_90.json")
    counts = collections.Counter()
    for kernel in facts["kernels"]:
        counts["instructions"] += sum(kernel[key] > 0 for key in kernel if key.startswith("per_"))
        counts["clocks that a warp waits by itself"] += sum(
            value > 0 for key, value in kernel["pace"].items() if key.endswith("_clocks"))
        counts["shares of integers and logic"] += sum(
            value > 0 for key, value in kernel["pace"].items() if key.endswith("alu_share"))
    for name in {kernel["kernel"] for kernel in facts["kernels"]}:
        of_it = next(kernel for kernel in facts["kernels"] if kernel["kernel"] == name)
        counts["requests that meet before L2"] += of_it["merging"] > 0
    counts["of all kernels together"] = (facts["cold_clocks"] > 0) + (facts["once_clocks"] > 1) + 1  # and drift
    return counts, len(facts["kernels"])


def counts(rows):
    """Numbers of each category."""
    return collections.Counter(category for part in (rows, of_architecture()) for its in part.values() for _, category in its)


def sentence(rows):
    of = counts(rows)
    coefficients, _ = regressed()
    return (f"four numbers fitted to times, {sum(coefficients.values())} coefficients regressed on counters, and "
            f"{sum(of[category] for category in READ_OFF)} constants, of which {of['code']} were read off code, "
            f"{of['counters']} off counters and {of['times']} off times and {of['given']} are given")


def table(rows):
    """The text between the marks of docs/constants.md."""
    coefficients, kernels = regressed()
    fitted = pages.read(ROOT / "data" / "calibration" / "h200.json")["fitted"]
    assert len(fitted) == 4, "the sentence says four"
    by_category = collections.defaultdict(collections.Counter)
    for part in (rows, of_architecture()):
        for (file, _, _), its in part.items():
            for _, category in its:
                by_category[category][file] += 1
    short = lambda file: file.removeprefix("model/")
    lines = [["fitted to times of the training part, the same for all kernels", len(fitted),
              f"`data/calibration/h200.json`: {', '.join(f'`{name}`' for name in fitted)}"],
             [f"regressed on counters of the training part, {kernels} kernels and variants", sum(coefficients.values()),
              "`data/facts/sm_90.json`: " + ", ".join(f"{count} {kind}" for kind, count in coefficients.items())]]
    for category in READ_OFF:
        files = by_category[category]
        lines.append([CATEGORIES[category], sum(files.values()), ", ".join(f"`{short(file)}` {count}" for file, count in sorted(files.items()))])
    return pages.table(["numbers", "count", "where"], lines) + (
        f"\n\nSo a forecast contains {sentence(rows)}. Another "
        f"{sum(by_category['kernel'].values()) + sum(by_category['definition'].values())} in the same sources "
        "say what a kernel is made of, or are units and mathematics.")


def with_table(text, rows):
    return pages.with_block(TEXT, text, "counted", table(rows))


def write(rows, constants):
    """The list in the order of the sources, with the categories that `rows` has."""
    rest = {key: list(its) for key, its in rows.items()}
    kept = collections.defaultdict(list)
    with open(LIST, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["file", "name", "value", "unit", "category"])
        for key in constants:
            its = rest[key].pop(0) if rest.get(key) else ("", "?")
            kept[key].append(its)
            out.writerow([*key, *its])
    return kept


def main(words):
    constants = found()
    rows = listed()
    if words == ["--update"]:
        rows = write(rows, constants)
        TEXT.write_text(with_table(TEXT.read_text(), {key: its for key, its in rows.items()
                                                     if all(category in CATEGORIES for _, category in its)}))
        return 0
    if words:
        sys.exit(__doc__)
    problems = []
    in_code = collections.Counter(constants)
    for key in sorted(set(in_code) | set(rows)):
        in_list = len(rows.get(key, []))
        file, name, value = key
        if in_code[key] > in_list:
            problems.append(f"{file}: {name} = {value} is not in docs/constants.csv"
                            + (f" {in_code[key]} times" if in_code[key] > 1 else ""))
        if in_code[key] < in_list:
            problems.append(f"docs/constants.csv: {file}: {name} = {value} is no longer in the source")
        for unit, category in rows.get(key, []):
            if category not in CATEGORIES:
                problems.append(f"docs/constants.csv: {file}: {name} = {value} has the category \"{category}\", "
                                f"expected one of {', '.join(CATEGORIES)}")
    if not problems and with_table(TEXT.read_text(), rows) != TEXT.read_text():
        problems.append("docs/constants.md: its table is not what docs/constants.csv and data/ say")
    if not problems:
        for file in SAY_IT_TOO:
            text = re.sub(r"\s+", " ", re.sub(r'"\s*"', "", (ROOT / file).read_text()))
            if sentence(rows) not in text:
                problems.append(f"{file}: expected the words \"{sentence(rows)}\"")
    for problem in problems:
        print(problem)
    if problems:
        print("Say where each number comes from in docs/constants.csv; tests/data/count_constants.py --update writes "
              "the list anew and keeps what is known.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
