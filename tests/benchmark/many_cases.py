#!/usr/bin/env python3
"""Makes large Run documents, to see what verbs take: the cases of a recording, again and again for larger batches.

    many_cases.py RECORDING CASES FOLDER [PARTS]

writes FOLDER/part_1.json and so on (PARTS, default 2) with CASES cases in all, their forecasts left out.
"""
import gzip
import json
import pathlib
import re
import sys


def main():
    recording, count, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    parts = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    with gzip.open(recording, "rt") as file:
        run = json.load(file)
    cases = run.pop("cases")
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        lines = []
        for i in range(part * count // parts, (part + 1) * count // parts):
            case = cases[i % len(cases)]
            batch = int(re.match(r"n(\d+)", case["shape"]).group(1)) + i // len(cases)
            shape = re.sub(r"^n\d+", f"n{batch}", case["shape"])
            lines.append(json.dumps({**case, "shape": shape}))
        head = json.dumps(run)[:-1]
        (folder / f"part_{part + 1}.json").write_text(head + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
