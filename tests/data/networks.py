#!/usr/bin/env python3
"""Sets the convolutions of whole-network forecasts beside their recorded kernels, for docs/networks.md.

    networks.py BINARY      prints a row for each network and batch: the forecast of all its convolutions, and the sum of the
                            fastest recorded setting of each, filters prepared, cold L2

The recordings are of single calls; in the graph of a network there is a gap of 0.1 us before each.
"""
import gzip
import json
import pathlib
import subprocess
import sys

RECORDED = pathlib.Path(__file__).resolve().parent.parent.parent / "data" / "recorded" / "h200"


def fastest(path):
    """shape -> the shortest recorded time of one of our FP32 strategies."""
    times = {}
    for case in json.loads(gzip.open(path).read())["cases"]:
        if case["status"] != "ok" or case.get("strategy", "implicit_gemm_3xtf32").startswith("implicit_gemm_3xtf32"):
            continue
        for measurement in case["measurements"]:
            if measurement["l2"] == "cold":
                time = measurement.get("prepared_time_s", measurement["time_s"])
                times[case["shape"]] = min(time, times.get(case["shape"], time))
    return times


def main(binary):
    print("| network | batch | forecast | recorded | forecast / recorded |\n|---|---|---|---|---|")
    for batch, name in ((1, "networks.json.gz"), (32, "networks_b32.json.gz")):
        times = fastest(RECORDED / name)
        for network in ("alexnet", "vgg16", "resnet18", "resnet50"):
            answer = subprocess.run([binary, "predict", "--network", network, "--batch", str(batch), "--json"], check=True,
                                    stdout=subprocess.PIPE)
            layers = [launch for launch in json.loads(answer.stdout)["launches"] if "candidates" in launch]
            forecast = sum(layer["candidates"][0]["time_s"] for layer in layers)
            recorded = sum(times[layer["shape"]] for layer in layers)
            print(f"| {network} | {batch} | {forecast * 1e6:,.0f} us | {recorded * 1e6:,.0f} us | {forecast / recorded:.3f} |")


if __name__ == "__main__":
    main(sys.argv[1])
