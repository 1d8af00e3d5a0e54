#!/usr/bin/env python3
"""data/measured/<gpu>.tsv: the times of data/recorded/<gpu>, a line per case, which answers on the command line set beside forecasts.

usage: index_measured.py [--update]
Without --update it is a test: the tables must be what the recordings say.
"""
import sys

from pages import RECORDED, SOURCE, read

# In lower precision: a row of its own, beside the fastest baseline in FP32.
TF32 = "cudnn:tf32"
# Not beside a forecast on NCHW tensors.
OTHER_LAYOUT = "cudnn:graph_nhwc"


def is_run(document):
    return isinstance(document, dict) and document.get("schema", "").startswith("convcast/run/")


def table(folder, profile):
    """Cold medians of verified cases, of baselines the fastest in FP32 on NCHW tensors (in halves, on halves) and cuDNN's in TF32.
    Of a case that stands in several recordings, the latest counts."""
    cases, baselines = {}, {}
    for path in sorted(folder.glob("*.json.gz")):
        document = read(path)
        conditions = document.get("conditions", {})
        if not is_run(document) or conditions.get("gpu") != profile["name"]:
            continue
        date = conditions.get("date", "")[-20:]
        sms = conditions.get("sms", str(profile["limits"]["sm_count"]))
        recording = path.name.removesuffix(".json.gz") + " of " + date[:10]
        for case in document["cases"]:
            cold = next((m for m in case.get("measurements", []) if m["l2"] == "cold"), None)
            if case["status"] != "ok" or cold is None:
                continue
            row = (date, f"{cold['time_s'] * 1e6:.4g}", recording)
            name = case.get("baseline", case.get("strategy"))
            if "baseline" in case and name != TF32:
                shape = (sms, case["shape"])
                if name != OTHER_LAYOUT and cold["time_s"] < baselines.get(shape, (1e9,))[0]:
                    baselines[shape] = (cold["time_s"], name, row)
            elif cases.get((key := (sms, case["shape"], name)), row)[0] <= date:
                cases[key] = row
    cases.update({(*shape, name): row for shape, (_, name, row) in baselines.items()})
    for path in sorted(folder.glob("networks_whole/*.json")):
        whole = read(path)
        conditions = whole.get("conditions", {})
        if whole.get("schema") != "convcast/network_run/3" or conditions.get("gpu") != profile["name"]:
            continue
        [its] = whole["cases"]
        if its["status"] != "ok" or "schedule" in conditions or "measured" not in its:
            continue  # of a schedule of its own, which nobody asks for by name
        date = conditions.get("date", "")[-20:]
        key = (str(profile["limits"]["sm_count"]), f"network {whole['network']} batch {its['batch']}", "replayed")
        cases[key] = (date, f"{its['measured']['time_s'] * 1e6:.4g}", "networks_whole of " + date[:10])
    lines = ["# Cold medians of data/recorded/" + folder.name + ", by tests/data/index_measured.py; not edited by hand.",
             "# gpu " + profile["name"], "# compute_capability " + profile["compute_capability"],
             "# SMs, shape, strategy or baseline, microseconds, recording; of a whole network the graph replayed in a row"]
    lines += ["\t".join((*key, time, recording)) for key, (_, time, recording) in sorted(cases.items())]
    return "\n".join(lines) + "\n"


def main():
    wrong = []
    for folder in sorted(RECORDED.iterdir()):
        if not folder.is_dir():
            continue
        shipped, measured_there = SOURCE / "profiles" / (folder.name + ".json"), folder / "profile.json"
        profile = read(shipped if shipped.exists() else measured_there)
        path, text = SOURCE / "data" / "measured" / (folder.name + ".tsv"), table(folder, profile)
        if "--update" in sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(f"{path.relative_to(SOURCE)} is not what data/recorded/{folder.name} says; "
                         "tests/data/index_measured.py --update makes it anew")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
