#!/usr/bin/env python3
"""Prints the tables of docs/networks.md.

    networks.py BINARY      a row for each network and batch: the forecast of all its convolutions, and the sum of the
                            fastest recorded setting of each, filters prepared, cold L2
    networks.py --whole     a row for each recorded run of a whole network: measured, forecast, PyTorch
    networks.py --onnx      a row for each recorded network of torchvision, and the means
    networks.py --readme    holds the README's sentence on them to the recordings; exit code 1 says what it should be
    networks.py --drawn     a row for each network of timm that was drawn at random, and the means
    networks.py --drawn BINARY  how far off a program of today forecasts the same networks, which are not blind for it
    networks.py --kinds     what each kind of launch of those of the last draw took, and what its forecast was, batch 1; and how far
                            off the forecast of a launch is, launch by launch, at each batch
    networks.py --layers RUN  the launches of one of these runs: time, share, forecast

The recordings are of single calls; in the graph of a network there is a gap of 0.1 us before each.
"""
import math
import sys

import pages
from pages import README, answer, geomean, mean, read, table

RECORDED = pages.RECORDED / "h200"


def us(seconds, form=",.0f"):
    return f"{seconds * 1e6:{form}} us"


def off(ratios):
    """How far forecasts over measured times are from 1, in words."""
    errors = [abs(ratio - 1.0) for ratio in ratios]
    return f"off by {mean(errors):.1%} in the mean, {max(errors):.1%} at most"


def fastest(path):
    """shape -> the shortest recorded time of one of our FP32 strategies."""
    times = {}
    for case in read(path)["cases"]:
        if case["status"] != "ok" or case.get("strategy", "implicit_gemm_3xtf32").startswith("implicit_gemm_3xtf32"):
            continue
        for measurement in case["measurements"]:
            if measurement["l2"] == "cold":
                time = measurement.get("prepared_time_s", measurement["time_s"])
                times[case["shape"]] = min(time, times.get(case["shape"], time))
    return times


def main(binary):
    rows = []
    for batch, name in ((1, "networks.json.gz"), (32, "networks_b32.json.gz")):
        times = fastest(RECORDED / name)
        for network in ("alexnet", "vgg16", "resnet18", "resnet50"):
            [case] = answer(binary, "predict", "--network", network, "--batch", batch)["cases"]
            convolutions = [launch for launch in case["launches"] if launch["kind"] == "convolution"]
            forecast = sum(launch["candidates"][0]["time_s"] for launch in convolutions)
            recorded = sum(times[launch["shape"]] for launch in convolutions)
            rows.append([network, batch, us(forecast), us(recorded), f"{forecast / recorded:.3f}"])
    print(table(["network", "batch", "forecast", "recorded", "forecast / recorded"], rows))


def whole():
    folder = RECORDED / "networks_whole"
    rows, torch = [], read(folder / "pytorch.json")["times_s"]

    def fastest_torch(network, batch, tf32):
        row = next(row for row in torch if (row["network"], row["batch"]) == (network, batch))
        return min(time for setting, time in row.items()
                   if setting not in ("network", "batch") and setting.startswith("tf32") == tf32)

    for batch in (1, 32):
        for network in ("alexnet", "vgg16", "resnet18", "resnet50"):
            run = read(folder / f"{network}_b{batch}.json")["cases"][0]
            time, forecast = run["measured"]["time_s"], run["forecast"]["time_s"]
            fp32, tf32 = (fastest_torch(network, batch, kind) for kind in (False, True))
            rows.append([network, batch, us(time), f"{run['measured']['low_s'] * 1e6:,.0f} to {us(run['measured']['high_s'])}", us(forecast),
                         f"{forecast / time:.3f}", us(fp32), f"{fp32 / time:.2f}", us(tf32), f"{tf32 / time:.2f}", f"{run['output_error']:.0e}"])
    print(table(["network", "batch", "measured", "spread", "forecast", "forecast / measured", "PyTorch FP32", "times as fast", "PyTorch TF32",
                 "times as fast", "L2 error"], rows))


def of_torchvision():
    """By network and batch: our row, PyTorch's shortest FP32 time; by network how far onnxruntime is."""
    folder = RECORDED / "networks_onnx"
    # Of a network that ran in several sittings the first counts, and the fastest of PyTorch's times.
    sittings = [read(folder / name) for name in ("in_place.json", "again_beside_pytorch.json", "networks.json", "beside_pytorch.json", "compiled_beside_pytorch.json")]
    rows, fp32, right = {}, {}, {}
    for row in (row for sitting in sittings for row in sitting["runs"]):
        key = row["network"], row["batch"]
        rows.setdefault(key, row)
        if "onnxruntime" in row:
            right[row["network"]] = max(row["onnxruntime"], right.get(row["network"], 0.0))
        if row.get("torch_s"):
            fp32[key] = min(*row["torch_s"].values(), fp32.get(key, math.inf))
    return rows, fp32, right


def check_readme():
    """The sentence of the README on the networks of torchvision that PyTorch ran too. Exit code 1 says what it should be."""
    rows, fp32, _ = of_torchvision()
    ratios = {batch: sorted(time / rows[key]["measured_s"] for key, time in fp32.items() if key[1] == batch) for batch in (1, 32)}
    said = ", ".join(f"{its[0]:.1f} to {its[-1]:.1f} times {'as fast ' if batch == 1 else ''}at batch {batch}" for batch, its in ratios.items()).replace(", ", " and ")
    said = f"the {len(ratios[1])} of torchvision that were timed in PyTorch 2.11 run {said}"
    if said not in " ".join(README.read_text().split()):
        sys.exit(f"README.md: expected \"{said}\"")


def onnx():
    rows, fp32, right = of_torchvision()
    times = lambda row: [us(row["measured_s"]), us(row["forecast_s"]), f"{row['forecast_s'] / row['measured_s']:.3f}"]
    lines = []
    for network in sorted({network for network, _ in rows}):
        both, torch = [rows[network, batch] for batch in (1, 32)], ["", ""]
        if (network, 1) in fp32:
            torch = [f"{fp32[network, 1] * 1e6:,.0f}; {us(fp32[network, 32])}",
                     "; ".join(f"{fp32[network, row['batch']] / row['measured_s']:.2f}" for row in both)]
        lines.append([network, *times(both[0]), *times(both[1]), f"{right[network]:.0e}", *torch])
    print(table(["network", "batch 1, measured", "forecast", "forecast / measured", "batch 32, measured", "forecast", "forecast / measured",
                 "from onnxruntime", "PyTorch FP32, batch 1; 32", "times as fast"], lines))
    for batch in (1, 32):
        forecasts = [row["forecast_s"] / row["measured_s"] for (_, its), row in rows.items() if its == batch]
        ratios = [time / rows[key]["measured_s"] for key, time in fp32.items() if key[1] == batch]
        print(f"\nbatch {batch}: {len(forecasts)} networks, forecast {off(forecasts)}; PyTorch's FP32 takes {geomean(ratios):.2f} times as long in "
              f"the geometric mean of {len(ratios)}, {min(ratios):.2f} at least")


def h100():
    """Runs on an H100 whose profile was measured beside them, and nothing else of which the forecast knows."""
    rows, ratios = [], []
    for path in sorted((pages.RECORDED / "h100" / "networks_onnx").glob("*.json.gz")):
        run = read(path)
        [its] = run["cases"]
        time, forecast = its["measured"]["time_s"], its["forecast"]["time_s"]
        ratios.append(forecast / time)
        rows.append([run["network"], its["batch"], us(time), us(forecast), f"{ratios[-1]:.3f}"])
    print("\n" + table(["H100", "batch", "measured", "forecast", "forecast / measured"], rows))
    print(f"\nH100: {len(ratios)} calls, forecast {off(ratios)}")


# Folders of networks drawn by the hash of a commit behind the last change to its model.
DRAWN = [RECORDED.parent / gpu / folder for folder in ("networks_drawn", "drawn_df4eb4b8", "drawn_7a613134", "drawn_98738e1e", "drawn_617d46ba", "drawn_0198d225", "drawn_a5d55817", "drawn_8d4eefd9", "drawn_353af094", "drawn_60467908")
         for gpu in ("h200", "h100")
         if (RECORDED.parent / gpu / folder).exists()]
LAST_DRAWN = {folder.parent.name: folder for folder in DRAWN}  # of each GPU


def drawn():
    """Those networks as that commit forecast them."""
    for folder in DRAWN:
        gpu, document = folder.parent.name.upper(), read(folder / "networks.json")
        rows = {(row["network"], row["batch"]): row for row in document["runs"] if "measured_s" in row}
        ran, lines = sorted({name for name, _ in rows}), []
        for name in ran:
            its = [rows.get((name, batch)) for batch in (1, 32)]
            cells = [cell for row in its for cell in ((us(row["measured_s"]), f"{row['forecast_s'] / row['measured_s']:.3f}") if row else ("not run", ""))]
            lines.append([name.removeprefix("timm/"), *cells, f"{max(row.get('onnxruntime', 0.0) for row in its if row):.0e}"])
        print(table([f"{gpu}, seed {document['seed']}", "batch 1, measured", "forecast / measured", "batch 32, measured", "forecast / measured",
                     "from onnxruntime"], lines))
        for batch in (1, 32):
            if ratios := [row["forecast_s"] / row["measured_s"] for (_, its), row in rows.items() if its == batch]:
                print(f"\n{gpu}, batch {batch}: {len(ratios)} networks, forecast {off(ratios)}")
        print("refused: " + (", ".join(sorted({row["network"] for row in document["runs"]} - set(ran))) or "none") + "\n")


def drawn_again(binary):
    """The same networks, forecast by a program that may have been changed since they ran."""
    for folder in DRAWN:
        gpu, ratios = f"{folder.parent.name.upper()}, {folder.name}", {}
        for path in sorted(path for path in folder.glob("*_b*.json.gz") if not path.name.endswith(".network.json.gz")):
            case = read(path)["cases"][0]
            network = folder / (path.name.rsplit("_b", 1)[0] + ".network.json.gz")
            profile = [] if folder == RECORDED / "networks_drawn" else ["--gpu", str(folder / "profile.json")]
            its = answer(binary, "predict", "--network", network, "--batch", case["batch"], *profile)["cases"]
            forecast = next(item for item in its if "forecast" in item)
            ratios.setdefault(case["batch"], []).append(forecast["forecast"]["time_s"] / case["measured"]["time_s"])
        for batch, its in sorted(ratios.items()):
            print(f"{gpu}, batch {batch}: {len(its)} networks, {off(its)}, forecast / measured {geomean(its):.3f}")


def launch_times(path):
    """(kind, measured, forecast) of each launch of a run but the first, seconds from the end of the launch before to its own. Tracing makes a
    call longer, so measured ends are scaled to the call that was not traced."""
    [case] = read(path)["cases"]
    scale = case["measured"]["time_s"] / case["traced"]["graph_s"]["median_s"]
    launches = [launch for launch in case["launches"] if launch["kind"] != "placed"]
    for before, launch in zip(launches, launches[1:]):
        kind = launch["candidates"][0]["strategy"].split(":")[0] if "candidates" in launch else launch["kind"]
        yield kind, scale * (launch["measured"]["ends_s"] - before["measured"]["ends_s"]), launch["ends_s"] - before["ends_s"]


def kinds():
    """Means over launches of each kind, and of the errors of single launches."""
    rows = []
    for gpu in ("h200", "h100"):
        times = {}
        for path in sorted(LAST_DRAWN[gpu].glob("*_b1.json.gz")):
            for kind, measured, forecast in launch_times(path):
                times.setdefault(kind, []).append((measured, forecast))
        for kind, its in sorted(times.items()):
            measured, forecast = map(mean, zip(*its))
            rows.append([gpu.upper(), kind, len(its), us(measured, ".2f"), us(forecast, ".2f"), f"{forecast / measured:.3f}"])
    print(table(["GPU", "launch", "launches", "measured", "forecast", "forecast / measured"], rows))
    rows = []
    for gpu in ("h200", "h100"):
        for batch in (1, 32):
            its = [(measured, forecast) for path in sorted(LAST_DRAWN[gpu].glob(f"*_b{batch}.json.gz"))
                   for _, measured, forecast in launch_times(path)]
            errors = sorted(abs(forecast / measured - 1.0) for measured, forecast in its)
            weighted = sum(abs(forecast - measured) for measured, forecast in its) / sum(measured for measured, _ in its)
            rows.append([gpu.upper(), batch, len(its), *(f"{share:.1%}" for share in (
                mean(errors), errors[len(errors) // 2], errors[math.ceil(0.9 * len(errors)) - 1], weighted))])
    print("\n" + table(["GPU", "batch", "launches", "mean error of a launch", "median", "p90", "weighted by time"], rows))


def layers(run):
    rows = []
    for launch in read(RECORDED / "networks_whole" / f"{run}.json")["cases"][0]["launches"]:
        measured = launch["measured"]
        by = launch["candidates"][0]["strategy"] if "candidates" in launch else launch["kind"]
        rows.append([" + ".join(launch["operators"]), us(measured["time_s"]["median_s"], ",.1f"), f"{measured['share']:.1%}",
                     us(launch["time_s"], ",.1f"), by.split(":")[0]])
    print(table(["launch", "time", "share", "forecast", "strategy"], rows))


if __name__ == "__main__":
    by_word = {"--whole": [whole], "--onnx": [onnx, h100], "--readme": [check_readme], "--kinds": [kinds], "--layers": [layers],
               "--drawn": [drawn_again if len(sys.argv) > 2 else drawn]}
    word, *rest = sys.argv[1:]
    for show in by_word.get(word, [lambda: main(word)]):
        show(*rest)
