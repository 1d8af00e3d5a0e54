#!/usr/bin/env python3
"""The tables of docs/several_gpus.md: the forecast for two and four GPUs, and what two measured.

    scaling.py BINARY             exit code 1 where the page says something else than convcast does of the recording
    scaling.py BINARY --update    writes them
"""
import sys

import pages
from pages import DOCS, answer, mean, micro, read, table

FOLDER = pages.RECORDED / "h200" / "scaling"
SPLITS = ["rows", "parameters", "batch"]


def scaling(binary, *options, network="mnist"):
    return answer(binary, "predict", "--network", network, *options)


def case_of(document, split, devices, batch):
    return next(c for c in document["cases"] if (c.get("split"), c["devices"], c["batch"]) == (split, devices, batch))


def forecast_table(binary):
    document = scaling(binary, "--devices", "0,1,2,3")
    columns = [(split, devices) for devices in (2, 4) for split in SPLITS[:3]]
    rows = []
    for batch in (2048, 65536):
        one, *steps = (case_of(document, *which, batch)["forecast"]["time_s"] for which in [("one", 1), *columns])
        rows.append([f"{batch:,}", micro(one), *(f"{micro(step)}, S {one / step:.2f}" for step in steps)])
    advice = {(its["split"], its["devices"]): its for its in document["advice"]}
    for title, field in (("faster than one GPU from", "pays_from"), ("efficiency of 0.9 from", "efficient_from")):
        rows.append([title, "", *(f"{advice[which][field]:,} images" if advice[which].get(field) else "never" for which in columns)])
    return table(["images a step", "one GPU", *(f"`{split}`, {devices} GPUs" for split, devices in columns)], rows)


def ranks_table(binary):
    rows, ratios, between = [], [], []
    for network in ("mnist", "fashion_mnist"):
        processes, threads = (read(FOLDER / f"{kind}_{network}.json") for kind in ("ranks", "threads"))
        measured_cases = [c for c in processes["cases"] if c.get("split") == "batch_nccl" and c.get("measured")]
        forecast = scaling(binary, "--devices", "0,1", "--split", "batch_nccl", "--batch", ",".join(str(c["batch"]) for c in measured_cases),
                           network=network)
        for case in measured_cases:
            batch, times = case["batch"], case["measured"]
            one = case_of(processes, "one", 1, batch)["measured"]["time_s"]
            both = case_of(threads, "batch_nccl", 2, batch)["measured"]["time_s"]
            ours = case_of(forecast, "batch_nccl", 2, batch)["forecast"]
            ratios.append(ours["time_s"] / times["time_s"])
            between.append(times["time_s"] / both)
            rows.append([f"`{network}`", f"{batch:,}", micro(one), micro(times["time_s"]), f"{one / times['time_s']:.2f}", f"{ratios[-1]:.2f}",
                         micro(times["communication_s"]), micro(ours["communication_s"]), micro(both)])
    off = [abs(r - 1.0) for r in ratios]
    head = ["network", "images a step", "one GPU", "two processes", "speed-up", "forecast / measured", "of it NCCL's sum", "forecast", "two threads"]
    return table(head, rows) + (
        f"\n\nTwo processes take {100 * min(between):.1f} to {100 * max(between):.1f} % of what two threads of one process take. Forecasts of "
        f"these {len(ratios)} steps are {100 * mean(off):.1f} % off in the mean, {100 * max(off):.0f} % at most.")


def measured(document, split, batch):
    return case_of(document, split, 2, batch)["measured"]["time_s"]


def measured_table(binary):
    document = read(FOLDER / "two_gpus.json")
    batches = [c["batch"] for c in document["cases"] if c.get("split") == "batch"]
    forecast = scaling(binary, "--devices", "0,1", "--batch", ",".join(map(str, batches)))
    rows, ratios = [], []
    for batch in batches:
        one = case_of(document, "one", 1, batch)["measured"]["time_s"]
        cells = [f"{batch:,}", micro(one), f"{case_of(forecast, 'one', 1, batch)['forecast']['time_s'] / one:.2f}"]
        for split in SPLITS:
            step = measured(document, split, batch)
            ratio = case_of(forecast, split, 2, batch)["forecast"]["time_s"] / step
            ratios.append(ratio)
            cells += [micro(step), f"{one / step:.2f}", f"{ratio:.2f}"]
        rows.append(cells)
    off = [abs(r - 1.0) for r in ratios]
    efficient = [b for b in batches if case_of(document, "one", 1, b)["measured"]["time_s"] / measured(document, "batch", b) >= 1.8]
    pays = [b for b in batches if case_of(document, "one", 1, b)["measured"]["time_s"] > measured(document, "batch", b)]
    head = ["images a step", "one GPU", "forecast / measured", *(name for split in SPLITS for name in (f"`{split}`", "speed-up", "forecast / measured"))]
    return table(head, rows) + (
        f"\n\nOf {len(ratios)} steps over two GPUs all forecasts are within {100 * max(off):.0f} %, "
        f"{100 * mean(off):.1f} % off in the mean. Split by images, two GPUs are faster than one from {pays[0]:,} images "
        f"of these on, and their efficiency is 0.9 and more from {efficient[0]:,} on.")


if __name__ == "__main__":
    binary, page = sys.argv[1], DOCS / "several_gpus.md"
    pages.keep_blocks([(page, "forecast", forecast_table(binary)), (page, "two gpus", measured_table(binary)),
                       (page, "ranks", ranks_table(binary))], "--update" in sys.argv)
