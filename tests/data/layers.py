#!/usr/bin/env python3
"""How good the forecast was, and is, on recordings that were made after the last change to the model of a commit, with that
commit's program, of shapes that nobody chose (docs/blind.md). For that commit they are blind. For every later one they are
development data, and its forecasts of them are never called blind.

    layers.py CONVCAST      prints both; exit code 1 says where the recorded forecasts are not as accurate as is stated (SETS)
    layers.py CONVCAST --first  how far what `choose` ranks first is off, by its own forecast and by the mean of those that tie with it
    layers.py CONVCAST --tiers      prints what this program says of the layers of H100s, by what it knows of them (TIERS)
    layers.py --keep-forecasts RUN.json.gz FILE    writes the forecasts of a run that still has them, of each of our calls the
                            time and its interval, to FILE, for example data/recorded/h100/layers_forecasts.tsv

The run without its forecasts is made by
    convcast merge --bare RUN.json.gz -o data/recorded/NAME/layers.json && gzip -9n data/recorded/NAME/layers.json

accuracy.py writes what this computes into README.md and docs/accuracy.md.
"""
import dataclasses
import functools
import math
import pathlib
import statistics
import sys
import tempfile
import typing

from pages import RECORDED, SOURCE, answer, geomean, mean, output, read

TENSOR_CORES = ("implicit_gemm_3xtf32",)
NAMES = {"h200": "H200", "h100": "H100"}


@dataclasses.dataclass(frozen=True, eq=False)
class Set:
    """A recording of each of several GPUs."""
    said: str
    commit: str   # that forecast it blind
    path: str     # below data/recorded/GPU, without .json.gz
    profile: dict  # GPU -> below data/recorded/GPU; of others the one that ships
    # Of that commit's forecasts: calls, layers, mean, median and 90th percentile of |forecast / measured - 1|, bias, share of
    # the measured times in their intervals, regret among kernels without tensor cores; %.
    stated: dict


def drawn(commit, networks, layers, depthwise, grouped):
    """What was drawn by the hash of a commit: of each GPU with its profile of that day."""
    folder = f"drawn_{commit}"
    return [Set(said, commit, f"{folder}/{name}", {gpu: f"{folder}/profile.json" for gpu in stated}, stated)
            for said, name, stated in ((f"layers of {networks} networks of timm", "layers", layers), ("depthwise shapes", "depthwise", depthwise),
                                       ("grouped shapes", "grouped", grouped))]


SETS = [
    Set("layers of 15 networks", "defdd5a", "layers", {"h100": "profile.json"},
        {"h200": (708, 82, 11.8, 6.9, 20.8, 0.999, 79, 3.8), "h100": (339, 40, 14.8, 8.9, 27.6, 1.070, 100, 2.4)}),
    *drawn("df4eb4b8", 7,
           {"h200": (235, 40, 8.6, 6.4, 17.9, 0.997, 83, 1.7), "h100": (235, 40, 9.5, 6.9, 19.9, 1.034, 80, 2.0)},
           {"h200": (145, 40, 7.9, 5.5, 17.9, 0.973, 82, 3.9), "h100": (100, 28, 7.7, 6.4, 16.7, 0.982, 84, 4.4)},
           {"h200": (90, 24, 8.9, 7.7, 18.4, 0.951, 81, 3.3), "h100": (90, 24, 9.0, 7.0, 18.6, 0.982, 83, 4.1)}),
    *drawn("7a613134", 9, {"h100": (235, 40, 9.1, 6.7, 19.6, 1.02, 90, 2.7)}, {"h100": (110, 31, 7.2, 5.8, 15.8, 0.989, 90, 3.7)},
           {"h100": (88, 24, 8.9, 7.5, 18.2, 0.999, 95, 2.3)}),
    *drawn("98738e1e", 9,
           {"h200": (231, 40, 7.4, 5.8, 15.3, 0.997, 93, 2.1), "h100": (231, 40, 8.2, 5.9, 17.2, 1.039, 88, 2.3)},
           {"h200": (69, 18, 6.7, 4.9, 16.8, 0.991, 88, 2.3), "h100": (60, 16, 6.1, 3.8, 14.1, 0.989, 88, 2.1)},
           {"h200": (92, 24, 9.0, 7.2, 18.2, 0.957, 95, 1.7), "h100": (92, 24, 10.6, 7.4, 21.5, 0.981, 89, 2.3)}),
    *drawn("0198d225", 9, {"h100": (237, 40, 9.2, 7.2, 19.6, 1.013, 86, 3.5)}, {"h100": (149, 40, 10.0, 6.6, 22.2, 1.053, 89, 1.2)},
           {"h100": (69, 24, 9.1, 6.3, 21.4, 1.012, 87, 3.6)}),
    *drawn("a5d55817", 9, {"h200": (235, 40, 7.6, 6.5, 15.8, 0.986, 97, 2.1)}, {"h200": (149, 40, 7.8, 6.0, 18.2, 0.993, 92, 2.1)},
           {"h200": (68, 24, 7.8, 6.3, 15.6, 0.974, 97, 1.6)}),
    *drawn("8d4eefd9", 9, {"h100": (235, 40, 8.0, 6.1, 17.8, 1.003, 87, 1.7)}, {"h100": (152, 40, 8.0, 6.2, 16.6, 1.0, 91, 1.6)},
           {"h100": (66, 24, 8.0, 5.5, 17.7, 1.003, 94, 1.6)}),
    *drawn("353af094", 9, {"h200": (237, 40, 6.9, 5.8, 14.0, 0.983, 94, 1.4), "h100": (237, 40, 7.1, 5.4, 15.2, 1.012, 90, 1.7)},
           {"h200": (150, 40, 7.1, 5.7, 15.8, 0.991, 89, 1.9), "h100": (150, 40, 7.2, 5.0, 16.3, 0.994, 87, 1.4)},
           {"h200": (64, 24, 8.4, 6.4, 20.5, 1.008, 89, 2.7), "h100": (67, 24, 8.6, 5.3, 21.3, 1.012, 85, 2.5)}),
]

# Those of layers of networks.
LAYERS = [of for of in SETS if of.said.startswith("layers ")]


# Of an H100, what can be known before its layers are timed: of print alone, of the probes of that day (PROBED), and of a calibration that
# `convcast adapt` fitted to 24 layers which another H100 ran. The facts were counted and the calibration fitted on an H200.
PRINT, PROBED = SOURCE / "profiles" / "h100_print.json", None
ADAPTED = RECORDED / "h100" / "adapted"
NOTHING_COUNTED, NOTHING_FITTED = ["--facts", "none"], ["--calibration", "none"]
TIERS = [
    ("published numbers only", PRINT, NOTHING_COUNTED + NOTHING_FITTED),
    ("published numbers, the H200's facts and calibration", PRINT, []),
    ("probes only", PROBED, NOTHING_COUNTED + NOTHING_FITTED),
    ("probes, the H200's facts", PROBED, NOTHING_FITTED),
    ("probes, the H200's facts and calibration", PROBED, []),
    ("probes and 24 layers of another H100, the H200's facts", ADAPTED, []),
]


class Forecast(typing.NamedTuple):
    """Seconds."""
    time: float
    low: float   # of the interval
    high: float
    warm: float = math.nan  # with a warm L2
    least: float = math.nan  # as the numbers that were assumed lie in their ranges
    most: float = math.nan


def measured_calls(document, l2="cold"):
    """(shape, strategy) -> seconds with a cold or a warm L2, of our kernels' verified calls."""
    return {(case["shape"], case["strategy"]): measurement["time_s"] for case in document["cases"] if "strategy" in case and case["status"] == "ok"
            for measurement in case["measurements"] if measurement["l2"] == l2}


def forecasts_of(document):
    """(shape, strategy) -> Forecast."""
    def forecast(its):
        return Forecast(its["time_s"], its["time_low_s"], its["time_high_s"], its["times"].get("warm_s", math.nan),
                        its.get("assumed_low_s", math.nan), its.get("assumed_high_s", math.nan))
    return {(case["shape"], case["strategy"]): forecast(case["prediction"])
            for case in document["cases"] if "strategy" in case and case["status"] == "ok"}


def blind_forecasts(of, gpu):
    """What that commit's program said when the calls were recorded."""
    rows = [line.split("\t") for line in (RECORDED / gpu / f"{of.path}_forecasts.tsv").read_text().splitlines() if line[0] != "#"]
    return {(shape, strategy): Forecast(*map(float, times)) for shape, strategy, *times in rows}


@functools.cache
def todays_forecasts(binary, of, gpu, other_profile=None, words=()):
    """What this program says of the same calls, by the profile of that day or another one."""
    profile = other_profile or (RECORDED / gpu / of.profile[gpu] if gpu in of.profile else None)
    profile = (["--gpu", profile] if profile else []) + list(words)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "again.json"
        output(binary, "predict", RECORDED / gpu / f"{of.path}.json.gz", "-o", out, *profile)
        return forecasts_of(read(out))


def percentile(values, share):
    """The value that this share of them does not exceed, as convcast report has it."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def layer_of(call):
    """A call is (shape, strategy), where several sets are looked at together (shape, strategy, set)."""
    return call[0], *call[2:]


def regrets(measured, forecasts, settings):
    """Of each layer of which several settings were measured: how much longer the first choice among them takes than the fastest. Of equal
    forecasts the first choice is the one that was recorded first, which is the order of choose."""
    layers = {}
    for call in settings:
        layers.setdefault(layer_of(call), []).append((forecasts[call].time, measured[call]))
    return [min(its, key=lambda call: call[0])[1] / min(time for _, time in its) - 1 for its in layers.values() if len(its) > 1]


def accuracy(measured, forecasts, warm):
    """Of forecasts of calls whose cold and warm times were measured."""
    ratios = {call: forecasts[call].time / time for call, time in measured.items()}
    without_tensor_cores = regrets(measured, forecasts, [call for call in measured if call[1].split(":")[0] not in TENSOR_CORES])
    with_range = {call: (its.low * its.least / its.time, its.high * its.most / its.time) for call, its in forecasts.items()}
    errors = [abs(ratio - 1) for ratio in ratios.values()]
    one_pixel = lambda shape: output_pixels(shape) == 1
    return {
        "calls": len(measured),
        "layers": len(set(map(layer_of, measured))),
        "mean": mean(errors),
        "median": statistics.median(errors),
        "p90": percentile(errors, 0.9),
        "bias": geomean(ratios.values()),
        "inside": mean(forecasts[call].low <= time <= forecasts[call].high for call, time in measured.items()),
        "width": statistics.median(forecasts[call].high / forecasts[call].low for call in measured),
        "of_forecast": statistics.median((forecasts[call].high - forecasts[call].low) / forecasts[call].time for call in measured),
        "regret": mean(without_tensor_cores),
        "first": mean(its <= 0.05 for its in without_tensor_cores),
        "regret_all": mean(regrets(measured, forecasts, measured)),
        # What blind forecasts said of a warm L2 was not kept.
        "warm": mean(abs(forecasts[call].warm / time - 1) for call, time in warm.items()) if warm else math.nan,
        # Where numbers of the profile are assumed (I3): their range alone, and the interval with each end moved as far as the range's.
        "inside_range": mean(forecasts[call].least <= time <= forecasts[call].most for call, time in measured.items()),
        "inside_both": mean(with_range[call][0] <= time <= with_range[call][1] for call, time in measured.items()),
        "width_both": statistics.median(with_range[call][1] / with_range[call][0] for call in measured),
        "assumed": not any(math.isnan(its.least) for its in forecasts.values()),
        "one_pixel": mean([abs(ratio - 1) for call, ratio in ratios.items() if one_pixel(call[0])] or [math.nan]),
        "more_pixels": mean(abs(ratio - 1) for call, ratio in ratios.items() if not one_pixel(call[0])),
    }


def fields(shape):
    """n4c32h112w112k32r3s3_pad1x1_g32 -> {"n": 4, ..., "pad": (1, 1), "str": (1, 1), "g": 32}"""
    first, *rest = shape.split("_")
    out, letter = {"pad": (0, 0), "str": (1, 1), "dil": (1, 1), "g": 1}, ""
    number = ""
    for character in first + "|":
        if character.isdigit():
            number += character
            continue
        if letter:
            out[letter] = int(number)
        letter, number = character, ""
    for part in rest:
        name = part.rstrip("0123456789x")
        value = part[len(name):]
        if name in out:
            out[name] = tuple(map(int, value.split("x"))) if "x" in value else int(value)
    return out


def output_pixels(shape):
    its = fields(shape)
    return math.prod((its[size] + 2 * pad - dilation * (its[window] - 1) - 1) // stride + 1
                     for size, window, pad, stride, dilation in zip("hw", "rs", its["pad"], its["str"], its["dil"]))


def results(binary):
    """(set, GPU, whose forecasts, accuracy): of each set and GPU that commit's, then this program's."""
    out = []
    for of in SETS:
        for gpu in of.stated:
            document = read(RECORDED / gpu / f"{of.path}.json.gz")
            if any("prediction" in case for case in document["cases"]):
                sys.exit(f"data/recorded/{gpu}/{of.path}.json.gz has forecasts; `convcast merge --bare` leaves them out")
            measured, warm = measured_calls(document), measured_calls(document, "warm")
            out.append((of, gpu, "blind", accuracy(measured, blind_forecasts(of, gpu), warm)))
            out.append((of, gpu, "today", accuracy(measured, todays_forecasts(binary, of, gpu), warm)))
    return out


def first_choices(binary):
    """(set, GPU, first choices that were measured, bias and mean error of their own forecasts, and of the mean of those that tie)."""
    for of in SETS:
        for gpu in of.stated:
            measured = measured_calls(read(RECORDED / gpu / f"{of.path}.json.gz"))
            profile = ["--gpu", str(RECORDED / gpu / of.profile[gpu])] if gpu in of.profile else []
            shapes = [word for shape in dict.fromkeys(shape for shape, _ in measured) for word in ("--shape", shape)]
            found = [(case["prediction"], measured[case["shape"], case["strategy"]])
                     for case in answer(binary, "choose", *shapes, *profile, "--top", "1")["cases"]
                     if (case["shape"], case.get("strategy")) in measured]
            ratios = [[forecast[key] / time for forecast, time in found] for key in ("time_s", "tied_s")]
            yield of, gpu, len(found), [(geomean(its), mean(abs(ratio - 1) for ratio in its)) for its in ratios]


def tiers(binary, sets):
    """(what was known, accuracy): of the calls of all these sets on H100s together."""
    sets = [of for of in sets if "h100" in of.stated]
    documents = [read(RECORDED / "h100" / f"{of.path}.json.gz") for of in sets]
    merged = lambda parts: {(*call, i): value for i, part in enumerate(parts) for call, value in part.items()}
    measured, warm = (merged(measured_calls(document, l2) for document in documents) for l2 in ("cold", "warm"))
    return [(said, accuracy(measured, merged(todays_forecasts(binary, of, "h100", profile, tuple(words)) for of in sets), warm))
            for said, profile, words in TIERS]


def inside_by(binary):
    """Of today's forecasts of all sets: by GPU, by decade of the measured time and by strategy the calls, the share of them in their
    intervals, and the median width of these over the forecast."""
    groups = {}
    for of in SETS:
        for gpu in of.stated:
            forecasts = todays_forecasts(binary, of, gpu)
            for call, time in measured_calls(read(RECORDED / gpu / f"{of.path}.json.gz")).items():
                forecast, low, high = forecasts[call][:3]
                for kind, name in (("decade", math.floor(math.log10(time))), ("strategy", call[1].split(":")[0])):
                    groups.setdefault((kind, name), {}).setdefault(gpu, []).append((low <= time <= high, (high - low) / forecast))
    return groups


def keep_forecasts(run, path):
    document, path = read(pathlib.Path(run)), pathlib.Path(path)
    of = next((of for of in SETS for gpu in of.stated if path.resolve() == RECORDED / gpu / f"{of.path}_forecasts.tsv"), None)
    if of is None:
        sys.exit(f"{path}: expected the place of one of SETS, for example data/recorded/h100/layers_forecasts.tsv")
    lines = [f"# What commit {of.commit} forecast of the calls of {pathlib.Path(of.path).name}.json.gz when they were recorded, by tests/data/layers.py",
             f"# --keep-forecasts; not edited by hand. Profile {document['profile_id']} (hash {document['profile_hash']}), facts "
             f"{document['conditions']['facts']}, calibration {document['conditions']['calibration']}.",
             "# shape, strategy, forecast, low and high end of its interval; seconds"]
    lines += ["\t".join((*call, *map(repr, times[:3]))) for call, times in forecasts_of(document).items()]
    path.write_text("\n".join(lines) + "\n")


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--keep-forecasts":
        return keep_forecasts(*arguments[1:])
    if arguments[1:] == ["--first"]:
        for of, gpu, count, ((bias, error), (tied_bias, tied_error)) in first_choices(arguments[0]):
            print(f"{NAMES[gpu]}, {of.said} ({of.commit}): {count} first choices; error {error:.1%}, bias {bias:.3f}; "
                  f"by the mean of those that tie {tied_error:.1%}, {tied_bias:.3f}")
        return 0
    if len(arguments) == 2 and arguments[1] == "--tiers":
        for said, its in tiers(arguments[0], LAYERS):
            print(f"{said}: {its['calls']} calls, {its['layers']} layers; error {its['mean']:.1%} mean, {its['median']:.1%} median, 90 % within "
                  f"{its['p90']:.1%}, bias {its['bias']:.3f}, warm {its['warm']:.1%}; intervals hold {its['inside']:.0%}, high over low end {its['width']:.2f}; "
                  + (f"the range of what is assumed {its['inside_range']:.0%}, both together {its['inside_both']:.0%}, {its['width_both']:.2f}; "
                     if its["assumed"] else "") + f"regret {its['regret']:.1%}, first within 5 % {its['first']:.1%}")
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    wrong = []
    for of, gpu, whose, its in results(arguments[0]):
        print(f"{NAMES[gpu]}, {of.said}, {'blind, forecast by ' + of.commit if whose == 'blind' else 'what the model makes of them now'}: "
              f"{its['calls']} calls, {its['layers']} layers; error {its['mean']:.1%} mean, {its['median']:.1%} median, "
              f"90 % within {its['p90']:.1%}, bias {its['bias']:.3f}; intervals hold {its['inside']:.0%}, high over low end "
              f"{its['width']:.2f} in the median; regret {its['regret']:.1%}, {its['regret_all']:.1%} with tensor cores, first within 5 % "
              f"{its['first']:.1%}; " + (f"warm {its['warm']:.1%}; " if not math.isnan(its["warm"]) else "") +
              f"maps of one pixel {its['one_pixel']:.1%}, others {its['more_pixels']:.1%}")
        got = (its["calls"], its["layers"], *(round(100 * its[key], 1) for key in ("mean", "median", "p90")),
               round(its["bias"], 3), round(100 * its["inside"]), round(100 * its["regret"], 1))
        if whose == "blind" and got != of.stated[gpu]:
            wrong.append(f"the forecasts of {of.commit} for {of.said} on the {NAMES[gpu]} were stated as {of.stated[gpu]}, the recorded ones give {got}")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
