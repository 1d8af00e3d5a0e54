#!/usr/bin/env python3
"""What the kernels reach of the aims in docs/limits.md, and what their warps wait for: the numbers of that page.

    kernel_limits.py [--convcast PROGRAM] [AIM ...]

prints, for each aim of AIMS, a line for every row that the page uses. It reads the recordings of data/recorded/h200 and
what `convcast report --json` says of them; no GPU is needed. Of each shape the fastest call of a kind counts. Over several
shapes, times and rates are geometric means and the shares of waiting warps are arithmetic means.

The columns, each only where it says something:
    us, warm us     time of a call from a cold L2, and directly after the same call
    tier 0          time over the speed of light of the call that ran (tier 0 of docs/model.md)
    direct tier 0   time over the speed of light of the convolution by its definition
    cuDNN           cuDNN's fastest true-FP32 time on NCHW tensors over this one
    SMs             share of the SMs that have a CTA, on average over the call
    issue, FMA      share of the issue slots, of the FMA pipe's lanes
    DRAM            bytes read and written, over what the profile's bandwidths move in that time
    fill            bytes of the output over what the profile's write bandwidth stores in that time
    waits           the three states in which warps spend most of their time, by the counters of stalls
"""
import argparse
import pathlib
import re
import sys

import pages
from pages import SOURCE as ROOT

RECORDED = pages.RECORDED / "h200"
SHAPE = re.compile(r"n(?P<n>\d+)c(?P<c>\d+)h(?P<h>\d+)w(?P<w>\d+)k(?P<k>\d+)r(?P<r>\d+)s(?P<s>\d+)"
                   r"(?:_str(?P<stride>\d+)x\d+)?(?:_pad(?P<pad>\d+)x\d+)?$")
NOT_OURS = r"cudnn|cublas|im2col"
KINDS = {
    "ours": re.compile(rf"(?!{NOT_OURS}|implicit_gemm_3xtf32)"),
    "direct": re.compile(rf"(?!{NOT_OURS}|implicit_gemm_3xtf32|winograd)"),
    "tensor cores": re.compile(r"implicit_gemm_3xtf32"),
    "cuDNN": re.compile(r"cudnn:(?!tf32|graph_nhwc|half)"),
    "cuBLAS": re.compile(r"cublas"),
    "Chang's": re.compile(r"filter_split|map_split|stride_fixed_block"),
}
STALL = "smsp__average_warps_issue_stalled_"


def profile():
    """The measured numbers of the GPU that the recordings were made on."""
    document = pages.read(ROOT / "profiles" / "h200.json")
    return {name: field["value"] for name, field in document.items() if isinstance(field, dict) and "value" in field}


def waits_of(counters):
    """State of a warp -> share of the time that warps live."""
    states = {name.split("stalled_")[1].split("_per_")[0]: value for name, value in counters.items() if "stalled_" in name}
    return {state: value / sum(states.values()) for state, value in states.items()}


def counter(counters, ending):
    """The one counter whose name has this part."""
    return next(value for name, value in counters.items() if ending in name)


class Call:
    """The fastest call of a kind on a shape."""

    def __init__(self, case, row, gpu):
        self.name, self.time, self.warm, self.tier0 = row["name"], row["cold_s"], row["warm_s"], row["tier0_s"]
        measured = case["measurements"][0]
        work, counters = measured["work"], measured["counters"]
        size = {name: int(text) if text else (1 if name == "stride" else 0)
                for name, text in SHAPE.match(case["shape"]).groupdict().items()}
        rows = [(size[edge] + 2 * size["pad"] - size[tap]) // size["stride"] + 1 for edge, tap in (("h", "r"), ("w", "s"))]
        output_bytes = 4 * size["n"] * size["k"] * rows[0] * rows[1]
        self.size = size
        self.prepared = measured.get("prepared_time_s", self.time)
        self.active = counter(counters, "sm__cycles_active.avg") / self.time / gpu["sm_clock"]
        self.issue = counter(counters, "issue_active.avg") / 100
        self.fma = counter(counters, "fma.avg") / 100
        self.dram = (work["dram_read_bytes"] / gpu["dram_read_bandwidth"]
                     + work["dram_write_bytes"] / gpu["dram_write_bandwidth"]) / self.time
        self.fill = output_bytes / gpu["dram_write_bandwidth"] / self.time
        self.waits = waits_of(counters)


def read(recording, program):
    """Shape -> kind -> its fastest call, of the shapes that SHAPE describes."""
    gpu, file = profile(), RECORDED / f"{recording}.json.gz"
    rows, shapes = pages.answer(program, "report", file)["cases"], {}
    for case, row in zip(pages.read(file)["cases"], rows, strict=True):
        if case["status"] != "ok" or not SHAPE.match(case["shape"]):
            continue
        for kind, names in KINDS.items():
            if names.match(row["name"]):
                fastest = shapes.setdefault(case["shape"], {})
                if kind not in fastest or row["cold_s"] < fastest[kind].time:
                    fastest[kind] = Call(case, row, gpu)
    return shapes


def mean(values):
    return pages.geomean(max(value, 1e-9) for value in values)


def line(title, shapes, kind="ours", columns=()):
    """Prints what the fastest calls of `kind` have in common, of those shapes that have one."""
    both = [calls for calls in shapes if kind in calls]
    calls = [calls[kind] for calls in both]
    share = lambda name: f"{name} {100 * mean(getattr(call, name.lower()) for call in calls):.0f} %"
    text = {
        "us": lambda: f"{1e6 * mean(call.time for call in calls):.4g} us",
        "warm us": lambda: f"warm {1e6 * mean(call.warm for call in calls):.4g} us",
        "tier 0 us": lambda: f"tier 0 {1e6 * mean(call.tier0 for call in calls):.3f} us",
        "tier 0": lambda: f"{mean(call.time / call.tier0 for call in calls):.2f} x tier 0",
        "direct tier 0": lambda: f"{mean(c[kind].time / c['direct'].tier0 for c in both):.2f} x direct tier 0",
        "cuDNN": lambda: f"cuDNN takes {mean(c['cuDNN'].time / c[kind].time for c in both):.2f} x",
        "cuBLAS": lambda: f"cuBLAS takes {mean(c['cuBLAS'].time / c[kind].time for c in both):.3f} x",
        "over ours": lambda: f"ours in FP32 takes {mean(c['ours'].time / c[kind].time for c in both):.2f} x",
        "prepared": lambda: f"prepared {mean(c['ours'].time / c[kind].prepared for c in both):.2f} x",
        "SMs": lambda: f"SMs {100 * mean(call.active for call in calls):.0f} %",
        "fill": lambda: f"fill {100 * mean(call.fill for call in calls):.1f} %",
        "waits": lambda: "waits: " + ", ".join(
            f"{state} {100 * of_it:.0f} %" for state, of_it in sorted(
                ((state, sum(call.waits[state] for call in calls) / len(calls)) for state in calls[0].waits
                 if state != "selected"), key=lambda pair: -pair[1])[:3]),
    }
    named = f"{calls[0].name}" if len(calls) == 1 else f"{len(calls)} shapes"
    print(f"  {title}: {named}; " + "; ".join(text[c]() if c in text else share(c) for c in columns))


def over_cudnn(program):
    shapes = {shape: calls for shape, calls in read("chen", program).items() if calls["ours"].size["c"] == 1}
    ratio = lambda calls: calls["cuDNN"].time / calls["ours"].time
    print(f"  at least 1.8 x: {sum(ratio(calls) >= 1.8 for calls in shapes.values())} of {len(shapes)} shapes")
    line("all", shapes.values(), columns=["cuDNN"])
    for shape in sorted(shape for shape, calls in shapes.items() if ratio(calls) < 1.8):
        line(shape, [shapes[shape]], columns=["us", "warm us", "tier 0 us", "cuDNN", "issue", "DRAM", "waits"])
        line(shape, [shapes[shape]], "cuDNN", ["us"])


def by_map(shapes, columns):
    line("all", shapes, columns=columns)
    for edge in sorted({calls["ours"].size["h"] for calls in shapes}):
        line(f"map {edge}", [calls for calls in shapes if calls["ours"].size["h"] == edge], columns=columns)


def one_channel(program):
    by_map([calls for calls in read("chang", program).values() if calls["ours"].size["c"] == 1],
           ["us", "tier 0", "issue", "DRAM", "waits"])


def many_channels(program):
    shapes = [calls for calls in read("chang", program).values() if calls["ours"].size["c"] > 1]
    print(f"  Winograd is our fastest: {sum(calls['ours'].name.startswith('winograd') for calls in shapes)} of {len(shapes)} shapes")
    by_map(shapes, ["tier 0", "direct tier 0", "SMs", "issue", "FMA", "DRAM", "waits"])


def stored_outputs(program):
    for recording in ("chen", "chang"):
        for shape, calls in sorted(read(recording, program).items(), key=lambda item: list(item[1]["ours"].size.values())):
            size = calls["ours"].size
            if size["c"] == 1 and size["k"] in (8, 32) and size["h"] >= 1024:
                line(f"{recording} {shape}", [calls], columns=["us", "fill", "DRAM", "issue", "FMA", "waits"])


def tensor_cores(program):
    shapes = [calls for calls in read("networks_b32", program).values() if "tensor cores" in calls]
    winograd = lambda size: size["stride"] == 1 and size["r"] == size["s"] and size["r"] in (3, 5)
    columns = ["over ours", "prepared", "waits"]
    gpu = profile()
    print(f"  products on tensor cores over FFMAs: {gpu['tf32_mma_rate'] / 3 / gpu['ffma_rate']:.2f} x, three TF32 products for one")
    line("all", shapes, "tensor cores", columns)
    for title, wanted in (("Winograd can compute it", True), ("Winograd cannot", False)):
        line(title, [calls for calls in shapes if winograd(calls["ours"].size) is wanted], "tensor cores", columns)
    for title, chosen in (("3 channels", lambda size: size["c"] == 3),
                          ("1 x 1, stride 2", lambda size: size["r"] == 1 and size["stride"] == 2)):
        line(title, [calls for calls in shapes if chosen(calls["ours"].size)], "tensor cores", columns)


def closest(program):
    for recording in ("networks_b32", "partition_2bcde"):
        shapes = read(recording, program)
        ratio = lambda shape: shapes[shape]["cuDNN"].time / shapes[shape]["ours"].time
        for shape in sorted((shape for shape in shapes if "cuDNN" in shapes[shape]), key=ratio)[:2]:
            line(f"{recording} {shape}", [shapes[shape]], columns=["us", "cuDNN", "issue", "FMA", "DRAM", "waits"])
    for shape, calls in read("chen_sgemm", program).items():
        if "cuBLAS" in calls:
            line(f"chen_sgemm {shape}", [calls], columns=["us", "cuBLAS", "issue", "FMA", "waits"])


def changs_kernels(program):
    both = [read(recording, program) for recording in ("chang", "chang_settings")]
    for title, one in (("one channel", True), ("several channels", False)):
        fastest = {}
        for shapes in both:
            for shape, calls in shapes.items():
                call = calls.get("Chang's")
                if call and (call.size["c"] == 1) is one and (shape not in fastest or call.time < fastest[shape]["Chang's"].time):
                    fastest[shape] = {"Chang's": call}
        line(title, fastest.values(), "Chang's", ["tier 0", "SMs", "issue", "FMA", "DRAM", "waits"])


AIMS = {
    "over_cudnn": ("One channel: 1.8 x cuDNN on each shape of chen_special, 3.2 x in the mean", over_cudnn),
    "one_channel": ("One channel: 1.5 x the speed of light on chang_single", one_channel),
    "many_channels": ("Many channels: 1.5 x the speed of light on chang_multi", many_channels),
    "stores": ("Large outputs: 88 % of the write bandwidth", stored_outputs),
    "tensor_cores": ("Tensor cores at batch 32: 1.5 x our best FP32 kernel", tensor_cores),
    "changs_kernels": ("Chang's own kernels: the theoretical maximum, his future work", changs_kernels),
    "closest": ("No slower than cuDNN and cuBLAS: the closest shapes", closest),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aims", nargs="*", metavar="AIM", help="of " + ", ".join(AIMS) + "; none: all")
    builds = [ROOT / "build" / preset / "cli" / "convcast" for preset in ("gpu", "host")]
    parser.add_argument("--convcast", metavar="PROGRAM", help="default: build/gpu/cli/convcast, else that of build/host")
    words = parser.parse_args()
    if unknown := [aim for aim in words.aims if aim not in AIMS]:
        parser.error(f"unknown aim {unknown[0]}; expected {', '.join(AIMS)}")
    program = words.convcast or next((str(build) for build in builds if build.exists()), None)
    if program is None or not pathlib.Path(program).is_file():
        sys.exit(f"kernel_limits.py: {program or 'convcast'} is not built; cmake --preset host && cmake --build --preset "
                 "host --target convcast, or name one by --convcast")
    for aim in words.aims or AIMS:
        title, show = AIMS[aim]
        print(f"{aim}: {title}")
        show(program)


if __name__ == "__main__":
    main()
