#!/usr/bin/env python3
"""The tables of docs/several_gpus.md: the forecast for two and four GPUs, and what two measured.

    scaling.py BINARY             exit code 1 where the page says something else than convcast does of the recording
    scaling.py BINARY --update    writes them
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "several_gpus.md"
FOLDER = ROOT / "data" / "recorded" / "h200" / "scaling"
RECORDED = FOLDER / "two_gpus.json"
SPLITS = ["rows", "parameters", "batch"]


def scaling(binary, *options, network="mnist"):
    answer = subprocess.run([binary, "predict", "--network", network, *options, "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def micro(seconds):
    us = seconds * 1e6
    return f"{us:,.0f}" if us >= 99.95 else f"{us:.1f}"


def case_of(document, split, devices, batch):
    return next(c for c in document["cases"] if (c.get("split"), c["devices"], c["batch"]) == (split, devices, batch))


def forecast_table(binary):
    document = scaling(binary, "--devices", "0,1,2,3")
    columns = [(split, devices) for devices in (2, 4) for split in SPLITS[:3]]
    lines = ["| images a step | one GPU | " + " | ".join(f"`{split}`, {devices} GPUs" for split, devices in columns) + " |",
             "|---" * (2 + len(columns)) + "|"]
    for batch in (2048, 65536):
        one = case_of(document, "one", 1, batch)["forecast"]["time_s"]
        cells = []
        for split, devices in columns:
            step = case_of(document, split, devices, batch)["forecast"]["time_s"]
            cells.append(f"{micro(step)}, S {one / step:.2f}")
        lines.append(f"| {batch:,} | {micro(one)} | " + " | ".join(cells) + " |")
    for title, field in (("faster than one GPU from", "pays_from"), ("efficiency of 0.9 from", "efficient_from")):
        cells = []
        for split, devices in columns:
            advice = next(a for a in document["advice"] if (a["split"], a["devices"]) == (split, devices))
            cells.append(f"{advice[field]:,} images" if advice.get(field) else "never")
        lines.append(f"| {title} | | " + " | ".join(cells) + " |")
    return lines


def ranks_table(binary):
    lines = ["| network | images a step | one GPU | two processes | speed-up | forecast / measured | of it NCCL's sum | forecast | two threads |",
             "|---" * 9 + "|"]
    ratios, between = [], []
    for network in ("mnist", "fashion_mnist"):
        processes, threads = (json.loads((FOLDER / f"{kind}_{network}.json").read_text()) for kind in ("ranks", "threads"))
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
            cells = [f"`{network}`", f"{batch:,}", micro(one), micro(times["time_s"]), f"{one / times['time_s']:.2f}", f"{ratios[-1]:.2f}",
                     micro(times["communication_s"]), micro(ours["communication_s"]), micro(both)]
            lines.append("| " + " | ".join(cells) + " |")
    off = [abs(r - 1.0) for r in ratios]
    lines += ["", f"Two processes take {100 * min(between):.1f} to {100 * max(between):.1f} % of what two threads of one process take. Forecasts of "
              f"these {len(ratios)} steps are {100 * sum(off) / len(off):.1f} % off in the mean, {100 * max(off):.0f} % at most."]
    return lines


def measured(document, split, batch):
    return case_of(document, split, 2, batch)["measured"]["time_s"]


def measured_table(binary):
    document = json.loads(RECORDED.read_text())
    batches = [c["batch"] for c in document["cases"] if c.get("split") == "batch"]
    forecast = scaling(binary, "--devices", "0,1", "--batch", ",".join(map(str, batches)))
    lines = ["| images a step | one GPU | forecast / measured | " +
             " | ".join(f"`{split}` | speed-up | forecast / measured" for split in SPLITS) + " |", "|---" * (3 + 3 * len(SPLITS)) + "|"]
    ratios = []
    for batch in batches:
        one = case_of(document, "one", 1, batch)["measured"]["time_s"]
        cells = [f"{batch:,}", micro(one), f"{case_of(forecast, 'one', 1, batch)['forecast']['time_s'] / one:.2f}"]
        for split in SPLITS:
            step = measured(document, split, batch)
            ratio = case_of(forecast, split, 2, batch)["forecast"]["time_s"] / step
            ratios.append(ratio)
            cells += [micro(step), f"{one / step:.2f}", f"{ratio:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    off = [abs(r - 1.0) for r in ratios]
    efficient = [b for b in batches if case_of(document, "one", 1, b)["measured"]["time_s"] / measured(document, "batch", b) >= 1.8]
    pays = [b for b in batches if case_of(document, "one", 1, b)["measured"]["time_s"] > measured(document, "batch", b)]
    lines += ["", f"Of {len(ratios)} steps over two GPUs all forecasts are within {100 * max(off):.0f} %, "
              f"{100 * sum(off) / len(off):.1f} % off in the mean. Split by images, two GPUs are faster than one from {pays[0]:,} images "
              f"of these on, and their efficiency is 0.9 and more from {efficient[0]:,} on."]
    return lines


def parts(binary):
    return {"forecast": forecast_table(binary), "two gpus": measured_table(binary), "ranks": ranks_table(binary)}


def main():
    binary, update = sys.argv[1], "--update" in sys.argv[2:]
    page = PAGE.read_text()
    for name, lines in parts(binary).items():
        start, end = f"<!-- {name} -->\n", f"\n<!-- end {name} -->"
        first, last = page.index(start) + len(start), page.index(end)
        text = "\n".join(lines)
        if page[first:last] != text and not update:
            print(f"docs/several_gpus.md, {name}: convcast says\n{text}\nTo write it: tests/data/scaling.py BINARY --update")
            sys.exit(1)
        page = page[:first] + text + page[last:]
    if update:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
