#!/usr/bin/env python3
"""Keeps the tables of docs/ladders.md true that show trainings and Cibil's rungs on an H200.

    trainings.py            compares them with data/recorded/h200; exit code 1 says which table differs
    trainings.py --update   writes them anew
"""
import sys

import pages
from pages import DOCS, table


def read(name):
    return pages.read(pages.RECORDED / "h200" / (name + ".json"))


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


if __name__ == "__main__":
    page = DOCS / "ladders.md"
    pages.keep_blocks([(page, "cibil", cibil()), (page, "trainings", trainings())], "--update" in sys.argv)
