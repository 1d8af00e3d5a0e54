#!/usr/bin/env python3
"""Writes recordings of networks by convcast 0.1 and 0.2 (network_run/2, ladder_run/1, scaling/1, training/1) as the one document
that this version reads, convcast/network_run/3.

    convert_networks.py FILE...       rewrites each file in place, packed (.gz) or not; a file of this version stays as it is
    convert_networks.py --test        holds the conversion against a small document of each kind

No number is changed; each finds its new place.
"""
import gzip
import json
import pathlib
import sys

KIND = "convcast/network_run/3"
# Old name: new name, in the order of the new document.
RUNG_TIMES = {"graph_warm_s": "time_s", "graph_cold_s": "cold_s", "stream_warm_s": "stream_s", "stream_cold_s": "stream_cold_s"}
RUNG_FORECAST = {"graph_s": "time_s", "stream_s": "stream_s", "copy_s": "copy_s", "why_not": "why_not"}
STEP = {"step_s": "time_s", "forward_s": "forward_s", "backward_s": "backward_s", "computation_s": "computation_s",
        "communication_s": "communication_s"}
RATES = ("speed_up", "efficiency", "weak_efficiency", "computation_over_communication")
HEAD = ("network", "profile_id", "profile_hash", "conditions", "published_gpu", "published_cpu_s", "published_images", "sequential_s",
        "devices", "peers")


def renamed(old, names):
    return {new: old[name] for name, new in names.items() if name in old}


def kept(old, *names):
    return renamed(old, {name: name for name in names})


def of_ladder(old):
    cases = []
    for rung in old["rungs"]:
        case = kept(rung, "id", "title") | {"devices": 1, "batch": old["batch"]} | kept(rung, "status", "reason")
        if "predicted" in rung and (forecast := renamed(rung["predicted"], RUNG_FORECAST)):
            case["forecast"] = forecast
        if measured := renamed(rung, RUNG_TIMES):
            case["measured"] = measured
        case |= kept(rung, "published_s")
        if rung["launches"] > 0:
            case["nodes"] = rung["launches"]
        case |= renamed(rung, {"relative_l2_error": "output_error", "gradient_error": "gradient_error"})
        if rung.get("predicted", {}).get("launches"):
            case["kernels_forecast"] = rung["predicted"]["launches"]
        cases.append(case | kept(rung, "kernels"))
    return cases


def of_scaling(old):
    cases = []
    for step in old["cases"]:
        case = kept(step, "split", "devices", "batch", "shares", "status", "reason")
        for name in ("forecast", "measured"):
            if name in step:
                case[name] = renamed(step[name], STEP) | kept(step.get(name + "_rates", {}), *RATES)
        cases.append(case | kept(step, "output_error", "gradient_error", "parameter_error", "issued"))
    return cases


def of_training(old):
    trained = {"devices": 1, "batch": old["descent"]["batch"], "status": "ok"}
    if "step_s" in old:
        trained["measured"] = {"time_s": old["step_s"]}
    trained["training"] = kept(old, "data", "tested_on", "images", "epochs", "steps", "descent", "time_s", "reference_accuracy",
                               "test_images", "checked")
    return [trained | kept(old, "accuracy", "disagreements")] + [
        {"id": rung["id"], "devices": 1, "batch": 1, "status": "ok"} | kept(rung, "accuracy", "disagreements")
        for rung in old.get("rungs", [])]


def of_whole(old):
    measured = old.get("measured", {})
    case = {"devices": 1, "batch": old["batch"], "status": measured.get("status", "not_run")} | kept(measured, "reason")
    case["forecast"] = kept(old, "time_s", "low_s", "high_s")
    if "replayed_s" in measured:
        case["measured"] = renamed(measured["replayed_s"], {"median_s": "time_s", "p05_s": "low_s", "p95_s": "high_s", "samples": "samples"})
    case |= kept(old, "nodes") | renamed(measured, {"l2_error": "output_error"})
    case |= kept(old, "light_s", "fmas", "convolutions_s", "dense_s", "others_s", "chosen_s", "launches", "what_if")
    if traced := kept(measured, "graph_s", "graph_cold_s", "stream_s"):
        case["traced"] = traced
    return [case | kept(measured, "weights", "device_bytes")]


CASES = {"convcast/ladder_run/1": of_ladder, "convcast/scaling/1": of_scaling, "convcast/training/1": of_training,
         "convcast/network_run/2": of_whole}


def converted(old):
    if old["schema"] == KIND:
        return old
    if old["schema"] not in CASES:
        raise SystemExit(f"expected a document of {', '.join(CASES)}, found {old['schema']}")
    return ({"schema": KIND} | {"network": "", "profile_id": "", "profile_hash": ""} | kept(old, *HEAD)
            | {"cases": CASES[old["schema"]](old)} | kept(old, "advice", "assumptions"))


def numbers(value):
    """All numbers of a document, however it is built."""
    if isinstance(value, dict):
        return [n for each in value.values() for n in numbers(each)]
    if isinstance(value, list):
        return [n for each in value for n in numbers(each)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def lost_numbers(old, new):
    """Numbers of the old document that the new one lacks."""
    there = set(numbers(new))
    return [number for number in numbers(old) if number != 0 and number not in there]


def test():
    step = {"forward_s": 1e-5, "backward_s": 2e-5, "step_s": 3e-5, "computation_s": 2.5e-5, "communication_s": 5e-6}
    olds = [
        {"schema": "convcast/ladder_run/1", "network": "mnist", "batch": 7, "conditions": {}, "sequential_s": 1.5e-3,
         "rungs": [{"id": "step", "title": "a step", "status": "ok", "launches": 6, "graph_warm_s": 2e-5, "relative_l2_error": 3e-7,
                    "predicted": {"graph_s": 2.1e-5, "launches": [{"kernel": "k", "operators": [], "time_s": 1e-6, "ctas_per_sm": 2, "waves": 0.5}]},
                    "kernels": [{"kernel": "k", "launches": 3, "time_s": 1.1e-6, "begins_s": 0, "ends_s": 4e-6}]}]},
        {"schema": "convcast/scaling/1", "network": "mnist", "devices": [0, 1], "profile_id": "h200", "profile_hash": "1", "conditions": {},
         "peers": {"bandwidth_bytes_per_s": 4e11, "latency_s": 9e-7, "source": "measured", "by": "peer_copy"},
         "cases": [{"split": "batch", "devices": 2, "batch": 64, "shares": [32, 32], "status": "ok", "forecast": step, "measured": step,
                    "forecast_rates": {"speed_up": 1.8, "efficiency": 0.9}, "output_error": 1e-7}],
         "advice": [{"split": "batch", "devices": 2, "pays_from": 1184}], "assumptions": ["a"]},
        {"schema": "convcast/training/1", "network": "mnist", "data": "d", "tested_on": "t", "images": 60000, "epochs": 3, "steps": 354,
         "descent": {"batch": 512, "epochs": 3, "rate": 0.5, "momentum": 0.25, "decay": 0}, "conditions": {}, "time_s": 0.1, "step_s": 1e-4,
         "accuracy": 0.98, "reference_accuracy": 0.97, "test_images": 10000, "checked": 1000, "disagreements": 4,
         "rungs": [{"id": "naive", "accuracy": 0.96, "disagreements": 5}]},
        {"schema": "convcast/network_run/2", "network": "alexnet", "batch": 32, "profile_id": "h200", "profile_hash": "1", "conditions": {},
         "time_s": 1e-3, "light_s": 5e-4, "fmas": 2e9, "convolutions_s": 8e-4, "dense_s": 1.5e-4, "others_s": 5e-5, "nodes": 19,
         "launches": [{"kind": "convolution", "operators": ["conv1"], "time_s": 9e-4, "share": 0.8}], "assumptions": ["a"],
         "measured": {"status": "ok", "weights": "seed 0", "l2_error": 1e-7, "device_bytes": 12345,
                      "replayed_s": {"median_s": 1.1e-3, "p05_s": 1.05e-3, "p95_s": 1.2e-3, "samples": 15},
                      "graph_s": {"median_s": 1.3e-3, "p05_s": 1.25e-3, "p95_s": 1.4e-3, "samples": 20}}}]
    for old in olds:
        new = converted(old)
        assert not lost_numbers(old, new), (old["schema"], lost_numbers(old, new))
        assert new["schema"] == KIND and converted(new) is new and len(new["cases"]) >= 1
    return 0


def written(value, indent=0):
    """As convcast writes documents: a list of plain values in one line."""
    pad, end = "  " * (indent + 1), "\n" + "  " * indent
    if isinstance(value, dict) and value:
        members = (f"{pad}{json.dumps(name, ensure_ascii=False)}: {written(its, indent + 1)}" for name, its in value.items())
        return "{\n" + ",\n".join(members) + end + "}"
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "[\n" + ",\n".join(pad + written(each, indent + 1) for each in value) + end + "]"
    return json.dumps(value, ensure_ascii=False)


def convert(path):
    packed = path.suffix == ".gz"
    old = json.loads(gzip.decompress(path.read_bytes()) if packed else path.read_text())
    new = converted(old)
    if lost := lost_numbers(old, new):
        raise SystemExit(f"{path}: {lost[:5]} would be lost")
    text = (written(new) + "\n").encode()
    path.write_bytes(gzip.compress(text, mtime=0) if packed else text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--test"]:
        sys.exit(test())
    for name in sys.argv[1:]:
        convert(pathlib.Path(name))
