#!/usr/bin/env python3
"""The tables of docs/ladders.md about rungs: what was recorded of each, and how good its forecast is.

    ladders.py BINARY             exit code 1 where the page says something else than convcast does of the recordings
    ladders.py BINARY --update    writes them
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "ladders.md"
RECORDED = ROOT / "data" / "recorded" / "h200" / "ladders"
RECORDINGS = ["fashion_mnist_b1", "fashion_mnist_b128", "fashion_mnist_b1024", "fashion_mnist_b10000", "mnist_b2048"]


def ladder(binary, name):
    """A recording with forecasts by the binary."""
    answer = subprocess.run([binary, "report", str(RECORDED / (name + ".json")), "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def micro(seconds):
    """Three digits of microseconds, a dash of none."""
    if seconds is None:
        return "–"
    us = seconds * 1e6
    return f"{us:,.0f}" if us >= 99.95 else f"{us:.1f}"


def took(rung, what):
    """A measured time; None of a rung that was not timed."""
    return rung.get("measured", {}).get(what)


def measured_table(run):
    """Every rung of one image."""
    lines = ["| implementation | what it does | kernels | published | forecast | graph | graph, cold L2 | stream |",
             "|---|---|---|---|---|---|---|---|"]
    for rung in run["cases"]:
        title = rung["title"] + (": refused, 0x338c0 of 0x10000 bytes" if rung["id"] == "constant_all" else "")
        lines.append("| `{}` | {} | {} | {} | {} | {} | {} | {} |".format(
            rung["id"], title, rung.get("nodes", 0), micro(rung.get("published_s")), micro(rung["forecast"].get("time_s")),
            micro(took(rung, "time_s")), micro(took(rung, "cold_s")), micro(took(rung, "stream_s"))))
    return lines


def timed(runs):
    """Rungs that were measured and have a forecast."""
    return [(run, rung) for run in runs for rung in run["cases"]
            if took(rung, "time_s") and rung["forecast"].get("time_s")]


def not_counted(runs):
    """A sentence on the rungs that were measured and have none."""
    names = [f"`{rung['id']}` of {run['network']}" for run in runs for rung in run["cases"]
             if took(rung, "time_s") and not rung["forecast"].get("time_s")]
    return ["", "Nobody has counted the kernels of " + ", ".join(names) + "."] if names else []


def errors_table(runs):
    """Forecast over measured of every rung that was timed, one image left to the table above."""
    lines = ["| network | batch | implementation | forecast, us | measured, us | forecast / measured | in a stream |",
             "|---|---|---|---|---|---|---|"]
    for run, rung in timed(runs):
        ratio = rung["forecast"]["time_s"] / took(rung, "time_s")
        bold = "**" if abs(ratio - 1) > 0.1 else ""
        stream = rung["forecast"]["stream_s"] / took(rung, "stream_s")
        far = "**" if abs(stream - 1) > 0.1 else ""
        lines.append(f"| {run['network']} | {rung['batch']:,} | `{rung['id']}` | {micro(rung['forecast']['time_s'])} | "
                     f"{micro(took(rung, 'time_s'))} | {bold}{ratio:.3f}{bold} | {far}{stream:.3f}{far} |")
    return lines


def step_measured():
    """(network, images, what was recorded, where, seconds) of each step of training that was timed."""
    runs = [json.loads((RECORDED.parent / "training" / (name + ".json")).read_text()) for name in ("fashion_mnist", "mnist")]
    steps = [(run["network"], its["training"]["descent"]["batch"], "step", "a step of 'run --data'", its["measured"]["time_s"])
             for run in runs for its in run["cases"]]
    seen = set()
    for name in ("small_batches", "two_shares", "four_shares"):
        for case in json.loads((RECORDED.parent / "scaling" / (name + ".json")).read_text())["cases"]:
            if case.get("split") == "one" and case.get("measured") and case["batch"] not in seen:
                seen.add(case["batch"])
                for rung, key in (("forward", "forward_s"), ("step", "time_s")):
                    steps.append(("mnist", case["batch"], rung, "40 steps in a graph", case["measured"][key]))
    return sorted(steps)


def steps_table(binary):
    """The same forecast held against steps that were timed otherwise than as a rung, none of which it was made with."""
    lines = ["| network | images | implementation | timed as | forecast, us | measured, us | forecast / measured |",
             "|---|---|---|---|---|---|---|"]
    for network, images, rung, how, measured in step_measured():
        answer = subprocess.run([binary, "predict", "--network", network, "--ladder", "--batch", str(images), "--json"],
                                check=True, stdout=subprocess.PIPE)
        rungs = {rung["id"]: rung for rung in json.loads(answer.stdout)["cases"]}
        forecast = rungs[rung]["forecast"]["time_s"]
        ratio = forecast / measured
        bold = "**" if abs(ratio - 1) > 0.1 else ""
        lines.append(f"| {network} | {images:,} | `{rung}` | {how} | {micro(forecast)} | {micro(measured)} | {bold}{ratio:.3f}{bold} |")
    return lines


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
        period = json.loads((ROOT / "profiles" / "h200.json").read_text())
        floor, graph = period["launch_floor"]["value"], period["graph_launch_period"]["value"]
        between = rung["forecast"]["time_s"] - sum(launch["time_s"] for launch in launches) - floor - rung["forecast"].get("copy_s", 0)
        return between - round(between / (graph + 0.65e-6)) * graph

    its = errors(lambda rung: 0)
    mean = lambda values: f"{100 * sum(values) / len(values):.1f} %"
    within = sum(error <= 0.1 for error in its)
    row = errors(lambda rung: 0, in_a_row)
    return [f"{within} of {len(its)} times are within 10 %, the mean error is {mean(its)} and the largest "
            f"{100 * max(its):.0f} %. Of the {len(row)} whose launches follow each",
            f"other on one stream the mean error is {mean(row)}; without cold code it would be {mean(errors(code, in_a_row))}, "
            f"without the gap behind a dependency {mean(errors(gaps, in_a_row))}."]


# By Nsight Compute on an H200 with cold caches: time, FMA pipe busy, issue slots used.
KERNELS_ALONE = {"train_forward": (28.3, 58, 69), "train_dense_parts": (5.3, 11, 22), "train_dense_back": (14.4, 8, 18),
                 "train_inputs_back": (20.0, 17, 49), "train_filters_back": (21.7, 14, 38), "train_update": (14.2, 2, 9)}


def kernels_table(run):
    lines = ["| kernel | time | FMA pipe busy | issue slots used | forecast |", "|---|---|---|---|---|"]
    step = next(rung for rung in run["cases"] if rung["id"] == "step")
    for launch in step["kernels_forecast"]:
        time, pipe, slots = KERNELS_ALONE[launch["kernel"]]
        lines.append(f"| `{launch['kernel']}` | {time:.1f} us | {pipe} % | {slots} % | {micro(launch['time_s'])} us |")
    return lines


def batches_table(runs):
    lines = ["| images | `one_kernel` | `batch` | images a second | share of the FFMA rate |", "|---|---|---|---|---|"]
    profile = json.loads((ROOT / "profiles" / "h200.json").read_text())
    rate = profile["ffma_rate"]["value"] * profile["limits"]["sm_count"] * profile["sm_clock"]["value"]
    products = 460800 + 3276800 + 66176  # of an image
    for run in runs:
        if run["network"] != "fashion_mnist":
            continue
        times = {rung["id"]: took(rung, "time_s") for rung in run["cases"]}
        best = min(times["one_kernel"], times["batch"])
        batch = run["cases"][0]["batch"]
        each = batch / best
        lines.append(f"| {batch:,} | {micro(times['one_kernel'])} us | {micro(times['batch'])} us | "
                     f"{each / 1e6:.2g} million | {100 * each * products / rate:.1f} % |")
    return lines


def brief(errors, steps):
    """The sentence of README.md, of the two tables of forecasts."""
    ratios = lambda lines, column: [float(line.split("|")[column].strip(" *")) for line in lines[2:]]
    alone, others = ratios(errors, 6), ratios(errors, 7) + ratios(steps, 7)
    near = lambda values: sum(abs(ratio - 1) <= 0.1 for ratio in values)
    return (f"Of the ways of the two CNN papers to run their networks, {near(alone)} of {len(alone)} are forecast within 10 % as CUDA graphs, with three constants read off\n"
            f"these very times. Timed otherwise {near(others)} of {len(others)} are, the furthest {min(others):.3f} and {max(others):.3f} of the measured ([ladders](docs/ladders.md)).")


def main(binary, update):
    runs = [ladder(binary, name) for name in RECORDINGS]
    errors, steps = errors_table(runs), steps_table(binary)
    parts = {"rungs": measured_table(runs[0]), "batches": batches_table(runs), "errors": errors + [""] + summary(runs) + not_counted(runs),
             "steps": steps, "kernels": kernels_table(runs[1])}
    for page, its in ((PAGE, parts), (ROOT / "README.md", {"ladders": [brief(errors, steps)]})):
        text = before = page.read_text()
        for name, lines in its.items():
            begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
            if begin not in text or end not in text:
                sys.exit(f"{page}: expected the marks {begin.strip()} and {end}")
            head, rest = text.split(begin)
            text = head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]
        if update:
            page.write_text(text)
        elif text != before:
            sys.exit(f"{page} is not what convcast says of the recorded ladders; write it anew: "
                     f"python3 tests/data/ladders.py {binary} --update")


if __name__ == "__main__":
    main(sys.argv[1], "--update" in sys.argv)
