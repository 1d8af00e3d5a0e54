#!/usr/bin/env python3
"""What of the tests did not run, and what each of them waits for.

    skips.py BUILD_FOLDER [--may REGEX]   reads the log of the last ctest there and prints the tests that were skipped, in
                                          groups of one reason. With --may, exit code 1 where a reason does not match.

A test program that leaves a test out says so in a line of its own, made by skipped() below; GoogleTest's programs say it in
their own way. Either counts, also inside a program that passed as a whole.
"""
import argparse
import collections
import pathlib
import re
import sys
import unittest

LINE = re.compile(r"SKIPPED (?P<what>\S+): (?P<why>.*)")
GTEST = re.compile(r"\S+: Skipped\n(?P<why>[^\n]*)\n(?:\n)*\[  SKIPPED \] (?P<what>\S+)")


def skipped(what, why, *packages):
    """Says that a test is left out; with the command that installs what it waits for."""
    print(f"SKIPPED {what}: {why}" + (f"; apt-get install {' '.join(packages)}" if packages else ""), flush=True)


def run_unittest(words):
    """unittest.main() of the calling script, which says of each test left out why. The exit code."""
    result = unittest.main(argv=[sys.argv[0], *words], exit=False).result
    for test, why in result.skipped:
        skipped(test.id().removeprefix("__main__."), why)
    return 0 if result.wasSuccessful() else 1


def skips_in(log):
    """Tests by the reason why they did not run."""
    found = collections.defaultdict(list)
    for match in [*LINE.finditer(log), *GTEST.finditer(log)]:
        if match["what"] not in found[match["why"]]:
            found[match["why"]].append(match["what"])
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("--may", metavar="REGEX", help="reasons that are no failure")
    asked = arguments.parse_args()
    log = (asked.build / "Testing" / "Temporary" / "LastTest.log").read_text(errors="replace")
    found = skips_in(log)
    if not found:
        print("Every test ran.")
        return 0
    failed = False
    for why, tests in sorted(found.items(), key=lambda entry: -len(entry[1])):
        refused = asked.may is not None and not re.search(asked.may, why)
        failed |= refused
        shown = ", ".join(tests[:3]) + (f" and {len(tests) - 3} more" if len(tests) > 3 else "")
        print(f"{'must not be skipped' if refused else 'not run'}: {shown}\n    {why}")
    print(f"{sum(map(len, found.values()))} tests did not run, for {len(found)} reasons.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
