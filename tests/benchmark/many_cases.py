#!/usr/bin/env python3
"""Makes large Run documents, to see what verbs take: the cases of a recording, again and again for larger batches.

    many_cases.py RECORDING CASES FOLDER [PARTS] [--lines]

writes FOLDER/part_1.json and so on (PARTS, default 2) with CASES cases in all, their forecasts left out. With --lines they
are documents of lines, part_1.jsonl, which may have any number of cases.

    many_cases.py RECORDING CASES FOLDER --time CONVCAST [--into BENCHMARK.json]

makes two such parts in FOLDER and times `merge` of both, `predict` and `report` of what merge wrote, and `choose` over half a
per cent as many shapes. It prints seconds of all cores, seconds by the clock and the peak of memory, and with --into puts
them in the place of the entries of the same name.
"""
import argparse
import gzip
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from usage import usage_of  # noqa: E402


def write_parts(recording, count, folder, parts, lines):
    with gzip.open(recording, "rt") as file:
        run = json.load(file)
    cases = run.pop("cases")
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for part in range(parts):
        names.append(folder / f"part_{part + 1}.json{'l' if lines else ''}")
        with open(names[-1], "w") as out:
            out.write(json.dumps(run) + "\n" if lines else json.dumps(run)[:-1] + ', "cases": [\n')
            last = (part + 1) * count // parts - 1
            for i in range(part * count // parts, last + 1):
                case = cases[i % len(cases)]
                batch = int(re.match(r"n(\d+)", case["shape"]).group(1)) + i // len(cases)
                shape = re.sub(r"^n\d+", f"n{batch}", case["shape"])
                out.write(json.dumps({**case, "shape": shape}) + ("\n" if lines or i == last else ",\n"))
            if not lines:
                out.write("]}\n")
    return names


def shapes_of(recording, count):
    """Distinct shapes of a recording, again and again for larger batches."""
    with gzip.open(recording, "rt") as file:
        shapes = list(dict.fromkeys(case["shape"] for case in json.load(file)["cases"]))
    for i in range(count):
        shape = shapes[i % len(shapes)]
        yield re.sub(r"^n(\d+)", lambda found: f"n{int(found.group(1)) + i // len(shapes)}", shape)


def timed(name, asked, *words):
    """An entry of the benchmark: seconds of all cores; beside it seconds by the clock."""
    start = time.monotonic()
    used = usage_of(words)
    if used.code != 0:
        sys.exit(f"{name}: exit code {used.code}: {used.said}")
    figure = {"name": name, "unit": "CPU s", "value": round(used.cpu_seconds, 1)}
    if asked:
        figure["asked"] = asked
    figure["peak_memory_bytes"] = used.peak_bytes
    print(f"{name:<26}{figure['value']:>9} s of all cores{time.monotonic() - start:>9.1f} s by the clock"
          f"{figure['peak_memory_bytes'] / 2**20:>9.0f} MiB", flush=True)
    return figure


def time_verbs(arguments):
    folder, count, binary = arguments.folder, arguments.cases, arguments.time
    parts = write_parts(arguments.recording, count, folder, 2, True)
    of_cases = f"{count} cases"
    whole, forecast = folder / "all.jsonl", folder / "forecast.jsonl"
    figures = [timed(f"merge {of_cases}", 110, binary, "merge", *parts, "-o", whole),
               timed(f"predict {of_cases}", 110, binary, "predict", whole, "-o", forecast),
               timed(f"report {of_cases}", 110, binary, "report", forecast, "-o", folder / "page")]
    shapes = count // 200
    (folder / "shapes.txt").write_text("\n".join(shapes_of(arguments.recording, shapes)) + "\n")
    figures.append(timed(f"choose {shapes} shapes", None, binary, "choose", "--shapes", folder / "shapes.txt", "--top", "1", "-o",
                         folder / "chosen.jsonl"))
    if arguments.into:
        benchmark = json.loads(arguments.into.read_text())
        names = [figure["name"] for figure in figures]
        benchmark["figures"] = [figure for figure in benchmark["figures"] if figure["name"] not in names] + figures
        arguments.into.write_text(json.dumps(benchmark, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording")
    parser.add_argument("cases", type=int)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("parts", type=int, nargs="?", default=2)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--time", type=pathlib.Path, metavar="CONVCAST")
    parser.add_argument("--into", type=pathlib.Path, metavar="BENCHMARK.json")
    arguments = parser.parse_args()
    if arguments.time:
        time_verbs(arguments)
    else:
        write_parts(arguments.recording, arguments.cases, arguments.folder, arguments.parts, arguments.lines)


if __name__ == "__main__":
    main()
