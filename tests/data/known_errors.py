#!/usr/bin/env python3
"""Where the forecast is known to be wrong: the numbers of docs/evidence.md, section "Where it misses".

    known_errors.py [--convcast PROGRAM]

forecasts the recordings of data/recorded/h200 anew and prints a line for each number; no GPU is needed. A ratio is
forecast over measured time from a cold L2, and over several calls the geometric mean.
"""
import argparse
import math

import pages
from pages import geomean, mean

RECORDED = pages.RECORDED / "h200"
RUNS = ("sweep", "sweep_unseen", "chang", "chen", "networks", "networks_b32", "boundaries")
SMS, SCHEDULERS = 132, 4


class Call:
    """A verified call of one of our strategies, with its forecast."""

    def __init__(self, case, measured):
        self.shape, self.text = case["shape"], case["strategy"]
        self.strategy = self.text.split(":")[0]
        self.measured, self.prediction = measured, case["prediction"]
        self.times = {m["l2"]: m["time_s"] for m in case["measurements"]}
        self.plan = self.prediction["plan"]
        self.ratio = self.prediction["time_s"] / measured["time_s"]

    def main(self):
        """The launch with most FMAs."""
        def fmas(launch):
            return launch["work"].get("fmas", 0) + launch["work"].get("tensor_fmas", 0)
        return max(self.plan["launches"], key=fmas)

    def off(self, quantity):
        """Counted over forecast work; None where either is missing."""
        counted = (self.measured.get("work") or {}).get(quantity)
        forecast = self.prediction["work"].get(quantity)
        return counted / forecast if counted and forecast else None

    def forecast_of(self, kernel):
        """Seconds of a launch in the forecast."""
        nodes = [self.prediction["term"]]
        while nodes:
            node = nodes.pop()
            if node["name"] == kernel:
                return node["value_s"]
            nodes += node.get("children", [])
        return None


def calls_of(program, recording):
    for case in pages.answer(program, "predict", RECORDED / f"{recording}.json.gz")["cases"]:
        cold = [m for m in case.get("measurements", []) if m["l2"] == "cold"]
        if case["status"] == "ok" and "strategy" in case and cold:
            yield Call(case, cold[0])


def ratios(calls):
    found = sorted(call.ratio for call in calls)
    return f"{len(found)} calls, {geomean(found):.2f}, from {found[0]:.2f} to {found[-1]:.2f}"


def error(calls):
    found = [abs(call.ratio - 1) for call in calls]
    return f"{len(found)} calls, error {100 * mean(found):.1f} %"


def stamps(program):
    """Of the recorded timelines, launches that prepare or transform: how long they ran, and as forecast."""
    for call in calls_of(program, "timelines"):
        for launch in call.measured["timeline"]["launches"]:
            if launch["kernel"].endswith(("_filters", "_input", "_output")):
                ran = (max(launch["end_ns"]) - min(launch["start_ns"])) / 1e3
                yield f"{launch['kernel']} on {call.shape}: {ran:.2f} us, forecast {1e6 * call.forecast_of(launch['kernel']):.2f}"


def knobs(call):
    return dict(knob.split("=") for knob in call.text.split(":")[1].split(","))


def stalls(call):
    """Clocks that a warp waits for each of its instructions, by what it waits for."""
    return {name: call.measured["counters"][f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"]
            for name in ("wait", "short_scoreboard", "long_scoreboard", "mio_throttle", "barrier")}


def lone_warps(program):
    """implicit_gemm with one CTA an SM and with several: how far off 1,024 channels are, what one step takes there, and what warps wait
    for with 512."""
    half = {}  # by images and setting, the call with 512 channels
    for call in calls_of(program, "lone_warps"):
        its, clock = knobs(call), call.measured["sm_clock_hz"]
        key = call.shape[:2], call.text
        setting = f"{call.shape}, tile of {its['tile_k']} filters, staging {its['staging']}, filters {its['filters']}, warp_split {its['warp_split']}"
        if "c512" in call.shape:
            half[key] = call
            yield f"{setting}: clocks of an instruction " + ", ".join(f"{name} {clocks:.2f}" for name, clocks in stalls(call).items())
        if "c1024" in call.shape:
            steps = 512 / int(its["slice_channels"])
            cold, warm = ((call.times[l2] - half[key].times[l2]) / steps * clock for l2 in ("cold", "warm"))
            yield f"{setting}: forecast {call.ratio:.2f} of its time, a step {cold:.0f} clk, with a warm L2 {warm:.0f} clk"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convcast", default=str(pages.SOURCE / "build" / "gpu" / "cli" / "convcast"))
    program = parser.parse_args().convcast
    runs = {run: list(calls_of(program, run)) for run in RUNS}
    everywhere = [call for calls in runs.values() for call in calls]

    for strategy in ("implicit_gemm", "row_register", "filter_split", "map_split"):
        its = [call for call in runs["sweep"] if call.strategy == strategy and call.off("fmas")]
        print(f"FFMAs off by more than 1 %, {strategy}: {sum(abs(c.off('fmas') - 1) > 0.01 for c in its)} of {len(its)}")
    reads = max((c.off("l2_read_bytes"), c) for c in everywhere if c.strategy == "naive_shared" and c.off("l2_read_bytes"))
    print(f"naive_shared requests {reads[0]:.2f} times the bytes of L2 that are forecast: {reads[1].shape} {reads[1].text}")

    def warps(call):
        launch = call.main()
        return launch["busy_warps"] * min(launch["ctas_per_sm"], math.ceil(launch["ctas"] / SMS)) / SCHEDULERS
    print("up to two warps a scheduler:", error(call for call in runs["sweep"] if warps(call) <= 2))
    print("more warps a scheduler:", error(call for call in runs["sweep"] if warps(call) > 2))
    for strategy in ("channel_split", "filter_split", "row_register"):
        for run, calls in runs.items():
            if its := [call for call in calls if call.strategy == strategy]:
                print(f"{strategy}, {run}:", ratios(its))
    print("implicit_gemm with prepared filters and one step:",
          ratios(c for c in everywhere if c.strategy == "implicit_gemm" and "filters=2" in c.text and c.main()["steps"] == 1))
    print(*stamps(program), *lone_warps(program), sep="\n")


if __name__ == "__main__":
    main()
