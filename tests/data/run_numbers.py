#!/usr/bin/env python3
"""Numbers of Run documents on standard input, one after another, for the pages of docs.

    run_numbers.py ratio A B     geometric mean of the times of the strategy A over those of B, on the shapes that have both
    run_numbers.py count paper   cases by the regime of that opinion: paper, physical or tier2

A and B are names of strategies, or texts with some of their knobs in any order.
"""
import collections
import json
import math
import sys


def documents(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        yield document
        at += len(text[at:]) - len(text[at:].lstrip())


def parts(text):
    name, _, knobs = text.partition(":")
    return name, set(filter(None, knobs.split(",")))


def times_of(cases, wanted):
    name, knobs = parts(wanted)
    out = {}
    for case in cases:
        its_name, its_knobs = parts(case.get("strategy") or "")
        if its_name == name and knobs <= its_knobs and case.get("prediction", {}).get("time_s"):
            out[case["shape"]] = case["prediction"]["time_s"]
    return out


def main(words):
    cases = [case for document in documents(sys.stdin.read().strip()) for case in document["cases"]]
    if words[:1] == ["ratio"] and len(words) == 3:
        of, over = times_of(cases, words[1]), times_of(cases, words[2])
        shapes = [shape for shape in of if shape in over]
        if not shapes:
            sys.exit(f"run_numbers: no shape has a time of both {words[1]} and {words[2]}")
        ratio = math.exp(sum(math.log(of[s] / over[s]) for s in shapes) / len(shapes))
        print(f"{words[1]} over {words[2]}: {ratio:.2f} on {len(shapes)} shapes; the second takes {100 * (1 - 1 / ratio):.1f} % less")
    elif words[:1] == ["count"] and len(words) == 2:
        counts = collections.Counter(case.get("prediction", {}).get("regimes", {}).get(words[1], "-") for case in cases
                                     if case["status"] == "ok")
        for regime, n in sorted(counts.items()):
            print(f"{n:4} {regime}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
