#!/usr/bin/env python3
"""Writes recordings of whole networks by convcast 0.1 (convcast/network_run/1) as convcast/network_run/2, which convert_networks.py
writes as the document that this version reads.

    renew_networks.py FILE...       rewrites each file in place; a file of this version stays as it is

No number is changed. The new document holds the forecast and the measurement side by side, so a few sums that version 0.1
left out are added from what it has: shares of the forecast, times by kind of launch, and multiply-adds by the shapes.
It goes when nothing that ships or that users have is of version 0.1.
"""
import json
import pathlib
import re
import sys

MEASURED = ("status", "reason", "weights", "l2_error", "device_bytes", "replayed_s", "graph_s", "graph_cold_s", "stream_s")


def multiply_adds(shape):
    letters = {letter: int(size) for letter, size in re.findall(r"([nchwkrsg])(\d+)", shape.replace("str", "").split("_")[0])}
    options = dict(re.findall(r"_(str|pad|dil|g)(\d+(?:x\d+)?)", shape))

    def pair(name, otherwise):
        found = options.get(name, f"{otherwise}x{otherwise}").split("x")
        return [int(size) for size in found]

    stride, pad, dilation = pair("str", 1), pair("pad", 0), pair("dil", 1)
    height, width = ((letters[size] + 2 * pad[i] - dilation[i] * (letters[tap] - 1) - 1) // stride[i] + 1
                     for i, (size, tap) in enumerate((("h", "r"), ("w", "s"))))
    groups = int(options.get("g", "1"))
    return letters["n"] * letters["k"] * height * width * letters["c"] // groups * letters["r"] * letters["s"]


def renewed_launch(old, forecast_s):
    new = {"kind": old["kind"], "operators": old["operators"]}
    if "shape" in old:
        new["shape"] = old["shape"]
    if "strategy" in old:
        new["candidates"] = [{"strategy": old["strategy"], "time_s": old["forecast_s"]}]
    new |= {"time_s": old["forecast_s"], "share": old["forecast_s"] / forecast_s}
    if "stream" in old:
        new["stream"] = old["stream"]
    for name in ("begins_s", "ends_s"):
        if "forecast_" + name in old:
            new[name] = old["forecast_" + name]
    if "l2_error" in old:
        new["l2_error"] = old["l2_error"]
    if "time_s" in old:
        new["measured"] = {name: old[name] for name in ("time_s", "share", "begins_s", "ends_s") if name in old}
    return new


def renewed(old):
    if old["schema"] != "convcast/network_run/1":
        return old
    launches, forecast_s = old["launches"], sum(launch["forecast_s"] for launch in old["launches"])
    new = {"schema": "convcast/network_run/2"}
    new |= {name: old[name] for name in ("network", "batch", "profile_id", "profile_hash", "conditions")}
    new |= {"time_s": old["forecast_s"], "light_s": old["light_s"],
            "fmas": sum(multiply_adds(launch["shape"]) for launch in launches if "shape" in launch)}
    for name, kinds in (("convolutions_s", ("convolution",)), ("dense_s", ("dense", "columns"))):
        new[name] = sum(launch["forecast_s"] for launch in launches if launch["kind"] in kinds and "shape" in launch)
    new["others_s"] = forecast_s - new["convolutions_s"] - new["dense_s"]
    new |= {"nodes": old["nodes"], "launches": [renewed_launch(launch, forecast_s) for launch in launches],
            "assumptions": old["assumptions"], "measured": {name: old[name] for name in MEASURED if name in old}}
    return new


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        path.write_text(json.dumps(renewed(json.loads(path.read_text())), indent=2) + "\n")
