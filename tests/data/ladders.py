#!/usr/bin/env python3
"""The tables of docs/ladders.md about rungs: what was recorded of each, and how good its forecast is.

    ladders.py BINARY             exit code 1 where the page says something else than convcast does of the recordings
    ladders.py BINARY --update    writes them
"""
import sys

import pages
from pages import DOCS, README, SOURCE, answer, mean, micro, read, table

RECORDED = pages.RECORDED / "h200"
RECORDINGS = ["fashion_mnist_b1", "fashion_mnist_b128", "fashion_mnist_b1024", "fashion_mnist_b10000", "mnist_b2048"]


def profile():
    return read(SOURCE / "profiles" / "h200.json")


def took(rung, what):
    """A measured time; None of a rung that was not timed."""
    return rung.get("measured", {}).get(what)


def measured_table(run):
    """Every rung of one image."""
    rows = []
    for rung in run["cases"]:
        title = rung["title"] + (": refused, 0x338c0 of 0x10000 bytes" if rung["id"] == "constant_all" else "")
        rows.append([f"`{rung['id']}`", title, rung.get("nodes", 0), micro(rung.get("published_s")), micro(rung["forecast"].get("time_s")),
                     *(micro(took(rung, what)) for what in ("time_s", "cold_s", "stream_s"))])
    return table(["implementation", "what it does", "kernels", "published", "forecast", "graph", "graph, cold L2", "stream"], rows)


def timed(runs):
    """Rungs that were measured and have a forecast."""
    return [(run, rung) for run in runs for rung in run["cases"]
            if took(rung, "time_s") and rung["forecast"].get("time_s")]


def not_counted(runs):
    """A sentence on the rungs that were measured and have none."""
    names = [f"`{rung['id']}` of {run['network']}" for run in runs for rung in run["cases"]
             if took(rung, "time_s") and not rung["forecast"].get("time_s")]
    return "\n\nNobody has counted the kernels of " + ", ".join(names) + "." if names else ""


def marked(ratio):
    """Bold where the forecast is off by more than a tenth."""
    return f"**{ratio:.3f}**" if abs(ratio - 1) > 0.1 else f"{ratio:.3f}"


def errors_of(runs):
    """(network, batch, implementation, forecast, measured, forecast / measured, the same in a stream) of every rung that was timed."""
    return [(run["network"], f"{rung['batch']:,}", f"`{rung['id']}`", micro(rung["forecast"]["time_s"]), micro(took(rung, "time_s")),
             *(rung["forecast"][what] / took(rung, what) for what in ("time_s", "stream_s"))) for run, rung in timed(runs)]


def errors_table(errors):
    """One image is left to the table above."""
    return table(["network", "batch", "implementation", "forecast, us", "measured, us", "forecast / measured", "in a stream"],
                 [[*row[:5], *map(marked, row[5:])] for row in errors])


def step_measured():
    """(network, images, what was recorded, where, seconds) of each step of training that was timed."""
    runs = [read(RECORDED / "training" / (name + ".json")) for name in ("fashion_mnist", "mnist")]
    steps = [(run["network"], its["training"]["descent"]["batch"], "step", "a step of 'run --data'", its["measured"]["time_s"])
             for run in runs for its in run["cases"]]
    seen = set()
    for name in ("small_batches", "two_shares", "four_shares"):
        for case in read(RECORDED / "scaling" / (name + ".json"))["cases"]:
            if case.get("split") == "one" and case.get("measured") and case["batch"] not in seen:
                seen.add(case["batch"])
                for rung, key in (("forward", "forward_s"), ("step", "time_s")):
                    steps.append(("mnist", case["batch"], rung, "40 steps in a graph", case["measured"][key]))
    return sorted(steps)


def steps_of(binary):
    """(network, images, implementation, timed as, forecast, measured, forecast / measured) of steps that were timed otherwise than as a
    rung, none of which the forecast was made with."""
    for network, images, rung, how, measured in step_measured():
        rungs = answer(binary, "predict", "--network", network, "--ladder", "--batch", images)["cases"]
        forecast = next(its["forecast"]["time_s"] for its in rungs if its["id"] == rung)
        yield network, f"{images:,}", f"`{rung}`", how, micro(forecast), micro(measured), forecast / measured


def steps_table(steps):
    return table(["network", "images", "implementation", "timed as", "forecast, us", "measured, us", "forecast / measured"],
                 [[*row[:6], marked(row[6])] for row in steps])


def summary(runs):
    """How good the forecasts are, and what they would be without each of two of the numbers that were read off times."""
    def errors(less, of=lambda rung: True):
        return [abs((rung["forecast"]["time_s"] - less(rung)) / took(rung, "time_s") - 1) for _, rung in timed(runs) if of(rung)]

    def in_a_row(rung):  # each launch once, so that what is between them can be told
        return rung["nodes"] == len(rung["kernels_forecast"])

    def code(rung):
        return sum(part["time_s"] for launch in rung["kernels_forecast"] for part in launch["parts"]
                   if part["name"] == "cold code")

    def gaps(rung):
        launches = rung["kernels_forecast"]
        period = profile()
        floor, graph = period["launch_floor"]["value"], period["graph_launch_period"]["value"]
        between = rung["forecast"]["time_s"] - sum(launch["time_s"] for launch in launches) - floor - rung["forecast"].get("copy_s", 0)
        return between - round(between / (graph + 0.65e-6)) * graph

    its = errors(lambda rung: 0)
    error = lambda values: f"{100 * mean(values):.1f} %"
    within = sum(one <= 0.1 for one in its)
    row = errors(lambda rung: 0, in_a_row)
    return (f"{within} of {len(its)} times are within 10 %, the mean error is {error(its)} and the largest "
            f"{100 * max(its):.0f} %. Of the {len(row)} whose launches follow each\n"
            f"other on one stream the mean error is {error(row)}; without cold code it would be {error(errors(code, in_a_row))}, "
            f"without the gap behind a dependency {error(errors(gaps, in_a_row))}.")


# By Nsight Compute on an H200 with cold caches: time, FMA pipe busy, issue slots used.
KERNELS_ALONE = {"train_forward": (28.3, 58, 69), "train_dense_parts": (5.3, 11, 22), "train_dense_back": (14.4, 8, 18),
                 "train_inputs_back": (20.0, 17, 49), "train_filters_back": (21.7, 14, 38), "train_update": (14.2, 2, 9)}


def kernels_table(run):
    step = next(rung for rung in run["cases"] if rung["id"] == "step")
    rows = [(f"`{launch['kernel']}`", *KERNELS_ALONE[launch["kernel"]], micro(launch["time_s"])) for launch in step["kernels_forecast"]]
    return table(["kernel", "time", "FMA pipe busy", "issue slots used", "forecast"],
                 [[kernel, f"{time:.1f} us", f"{pipe} %", f"{slots} %", f"{ours} us"] for kernel, time, pipe, slots, ours in rows])


def batches_table(runs):
    rows, gpu = [], profile()
    rate = gpu["ffma_rate"]["value"] * gpu["limits"]["sm_count"] * gpu["sm_clock"]["value"]
    products = 460800 + 3276800 + 66176  # of an image
    for run in runs:
        if run["network"] != "fashion_mnist":
            continue
        times = {rung["id"]: took(rung, "time_s") for rung in run["cases"]}
        best = min(times["one_kernel"], times["batch"])
        batch = run["cases"][0]["batch"]
        each = batch / best
        rows.append([f"{batch:,}", f"{micro(times['one_kernel'])} us", f"{micro(times['batch'])} us", f"{each / 1e6:.2g} million",
                     f"{100 * each * products / rate:.1f} %"])
    return table(["images", "`one_kernel`", "`batch`", "images a second", "share of the FFMA rate"], rows)


def brief(errors, steps):
    """The sentence of README.md, of the two tables of forecasts."""
    rounded = lambda rows, column: [round(row[column], 3) for row in rows]
    alone, others = rounded(errors, 5), rounded(errors, 6) + rounded(steps, 6)
    near = lambda values: sum(abs(ratio - 1) <= 0.1 for ratio in values)
    return (f"Of the ways of the two CNN papers to run their networks, {near(alone)} of {len(alone)} are forecast within 10 % as CUDA graphs, with three constants read off\n"
            f"these very times. Timed otherwise {near(others)} of {len(others)} are, the furthest {min(others):.3f} and {max(others):.3f} of the measured ([ladders](docs/ladders.md)).")


def main(binary, update):
    runs = [answer(binary, "report", RECORDED / "ladders" / (name + ".json")) for name in RECORDINGS]
    errors, steps = errors_of(runs), list(steps_of(binary))
    blocks = {"rungs": measured_table(runs[0]), "batches": batches_table(runs),
              "errors": errors_table(errors) + "\n\n" + summary(runs) + not_counted(runs), "steps": steps_table(steps),
              "kernels": kernels_table(runs[1])}
    pages.keep_blocks([*((DOCS / "ladders.md", *block) for block in blocks.items()), (README, "ladders", brief(errors, steps))], update)


if __name__ == "__main__":
    main(sys.argv[1], "--update" in sys.argv)
