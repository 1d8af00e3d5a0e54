#!/usr/bin/env python3
"""Holds the table of options, cli/options.json, to itself and to the sources that ask for options.

    check_options.py          exit code 1 names each row that cannot be right, and each option that no row has

An option is asked for by name, arguments.has("top"): a name that is misspelt would never be given.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ASKS = re.compile(r'\barguments\.(?:has|text|texts|integer)\(\s*"([^"]+)"')


def problems():
    table = json.loads((ROOT / "cli" / "options.json").read_text())
    verbs = {page.stem for page in (ROOT / "docs" / "cli").glob("*.md")}
    names, taken = set(), set()
    for row in table["options"]:
        name, takes = row["name"], row["takes"]
        names.add(name)
        for verb in row["verbs"]:
            if verb not in verbs:
                yield f"{name}: {verb} is no verb"
            if (verb, name) in taken:
                yield f"{name}: two rows for {verb}"
            taken.add((verb, name))
        if (takes == "flag") == ("value" in row):
            yield f"{name}: a flag has no value, and what has one is no flag"
        if takes == "texts" and name != "launch" and not row["help"].startswith("repeatable"):
            yield f"{name}: its help does not say that it is repeatable"
        if takes == "text" and row["help"].startswith("repeatable"):
            yield f"{name}: its help says that it is repeatable"
    for name in [*table["reads"], *table["writes"]]:
        if name not in names:
            yield f"{name}: is said to name a file, and no row has it"
    for refusal in table["refusals"]:
        for option in [name for part in ("given", "with", "only", "without") for name in refusal.get(part, [])]:
            option = option.split("=")[0]
            if not any((verb, option) in taken for verb in refusal["verbs"]):
                yield f"{refusal['says']}: no verb of it takes {option}"
        if not set(re.findall(r"\{(\w+)\}", refusal["says"])) <= {"verb", "given", "value", "other", "what"}:
            yield f"{refusal['says']}: has a name in braces that nothing stands for"
    for source in sorted((ROOT / "cli").glob("*.cpp")):
        for name in sorted(set(ASKS.findall(source.read_text())) - names):
            yield f"cli/{source.name}: asks for {name}, which no row has"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found))
    sys.exit(1 if found else 0)
