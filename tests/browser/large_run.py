#!/usr/bin/env python3
"""Writes a Run document of many cases, joined from the recorded runs of the whole GPU: what a large page is tested with.

usage: large_run.py CASES OUTPUT.json
"""
import gzip
import json
import pathlib
import sys

RECORDED = pathlib.Path(__file__).resolve().parents[2] / "data" / "recorded" / "h200"
FILES = ("sweep", "sweep_unseen", "chang", "chen", "networks", "networks_b32", "partition_2bcde", "chen_bank_width", "chen_sgemm")


def main():
    if len(sys.argv) != 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    wanted, run = int(sys.argv[1]), None
    for name in FILES:
        with gzip.open(RECORDED / f"{name}.json.gz", "rt", encoding="utf-8") as file:
            part = json.load(file)
        if run is None:
            run = part
        else:
            run["cases"] += part["cases"]
    while len(run["cases"]) < wanted:
        run["cases"] += run["cases"][:wanted - len(run["cases"])]
    del run["cases"][wanted:]
    output = pathlib.Path(sys.argv[2])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(run), encoding="utf-8")


main()
