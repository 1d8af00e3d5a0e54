#!/usr/bin/env python3
"""Keeps the tables of docs/ladders.md true that show trainings and Cibil's rungs on an H200.

    trainings.py            compares them with data/recorded/h200; exit code 1 says which table differs
    trainings.py --update   writes them anew
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORDED = ROOT / "data" / "recorded" / "h200"
TEXT = ROOT / "docs" / "ladders.md"


def read(name):
    return json.loads((RECORDED / (name + ".json")).read_text())


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def microseconds(seconds):
    return "%.1f" % (1e6 * seconds) if seconds < 1e-4 else "{:,.0f}".format(1e6 * seconds)


def cibil():
    rows = []
    for rung in read("ladders/mnist_b2048")["cases"]:
        published = rung.get("published_s")
        rows.append(["`" + rung["id"] + "`", rung["title"], str(rung.get("nodes", 0)),
                     "%.2f ms" % (1e3 * published) if published else "–"] +
                    [microseconds(rung["measured"][key]) for key in ("time_s", "cold_s", "stream_s")])
    return table(["implementation", "what it does", "launches", "published", "graph", "graph, cold L2", "stream"], rows)


def trainings():
    rows = []
    for network in ("fashion_mnist", "mnist"):
        [run], [held], [_, *every] = (read("training/" + network + suffix)["cases"] for suffix in ("", "_held_out", "_every_rung"))
        training, descent = run["training"], run["training"]["descent"]
        others = sum(rung["disagreements"] for rung in every)
        rows.append(["`" + network + "`", str(descent["batch"]), str(training["epochs"]),
                     "%g, %g, %g" % (descent["rate"], descent["momentum"], descent["decay"]),
                     microseconds(run["measured"]["time_s"]) + " us", "%.2f s" % training["time_s"], "%.2f %%" % (100 * held["accuracy"]),
                     "%.2f %%" % (100 * run["accuracy"]), "%d implementations, %d otherwise" % (len(every), others)])
    return table(["network", "batch", "epochs", "rate, momentum, decay", "step", "all steps", "5,000 held-out images",
                  "10,000 test images", "classified by"], rows)


def main():
    text = before = TEXT.read_text()
    for name, made in (("cibil", cibil()), ("trainings", trainings())):
        begin, end = "<!-- %s -->\n" % name, "\n<!-- end %s -->" % name
        assert text.count(begin) == 1 and text.count(end) == 1, f"{TEXT} has no table {name}"
        text = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + made + end, text, flags=re.S)
        if text != before and "--update" not in sys.argv:
            print(f"docs/ladders.md: the table {name} is not what data/recorded/h200 says; tests/data/trainings.py --update")
            return 1
    TEXT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
