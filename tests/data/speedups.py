#!/usr/bin/env python3
"""Keeps true how our kernels stand beside cuDNN: the tables between "<!-- studies -->", "<!-- layers -->", "<!-- groups -->",
"<!-- networks -->" and their "<!-- end -->" in docs/speedups.md, that of docs/results.md, and the sentences between "<!-- speedups -->" and
"<!-- end -->" in README.md.

    speedups.py CONVCAST             compares them with the recordings; exit code 1 names the first difference
    speedups.py CONVCAST --update    writes them anew
    speedups.py CONVCAST --print     prints the tables, and each layer on which our FP32 loses to cuDNN's in either layout

All times are cold medians of verified calls. A shape that several networks have counts once, with the mean of its ratios; by studies, which
are what `convcast report` says of a recording, it counts in each.
"""
import functools
import json
import math
import pathlib
import sys
import tempfile

import layers
import pages
from pages import DOCS, README, RECORDED, geomean

table = functools.partial(pages.table, rule=" --- ")
NETWORKS = {"1": "networks.json.gz", "32": "networks_b32.json.gz"}
# GPU -> the depthwise ones of its layers, run again when the strategies for them were there: the recordings of our times, and of cuDNN's.
LATER = {"h200": ("layers_depthwise.json.gz", "layers_depthwise_cudnn.json.gz"), "h100": ("layers_depthwise.json.gz", "layers_depthwise.json.gz")}

# Recordings and the studies in each, in the order of the table.
STUDIES = {"chang": ["chang_single", "chang_multi"], "chen": ["chen_special", "chen_general"], "partition_2bcde": ["partition_2bcde"],
           "networks": ["alexnet_b1", "resnet18_b1", "vgg16_b1", "resnet50_b1"],
           "networks_b32": ["alexnet_b32", "resnet18_b32", "vgg16_b32", "resnet50_b32"]}

# Recordings of depthwise and grouped layers, and what their head says of them.
GROUPS = [("h200", "depthwise", "depthwise layers of six networks"), ("h100", "depthwise", "the same"),
          ("h200", "depthwise_random", "40 depthwise shapes drawn at random"),
          ("h100", "drawn_df4eb4b8/depthwise", "28 others drawn at random"), ("h200", "grouped", "grouped layers of three networks"),
          ("h100", "grouped", "the same"), ("h200", "grouped_random", "24 grouped shapes drawn at random")]


def times(path):
    """(study, shape) -> {"ours", "ours_tensor", "cudnn", "cudnn_any", "tf32"}: the fastest of each, seconds. "cudnn" is in true FP32
    on the same NCHW tensors, "cudnn_any" also with tensors that lay in NHWC before the call."""
    out = {}
    for case in layers.read(path)["cases"]:
        cold = next((m["time_s"] for m in case.get("measurements", []) if m["l2"] == "cold"), None)
        if case["status"] != "ok" or cold is None:
            continue
        its = out.setdefault((case.get("study"), case["shape"]), {})
        name = case.get("baseline", "")
        if "strategy" in case:
            sides = ["ours_tensor" if case["strategy"].split(":")[0] in layers.TENSOR_CORES else "ours"]
        elif name == "cudnn:tf32":
            sides = ["tf32"]
        elif name == "cudnn:graph_nhwc":
            sides = ["cudnn_any"]
        else:
            sides = ["cudnn", "cudnn_any"] if name.startswith("cudnn:") and name != "cudnn:half" else []
        for side in sides:
            its[side] = min(cold, its.get(side, math.inf))
    return out


def by_shape(rows, over, ours):
    """shape -> how many times as fast `ours` is as `over`; of a shape in several studies the geometric mean."""
    ratios = {}
    for (_, shape), its in rows.items():
        if over in its and ours in its:
            ratios.setdefault(shape, []).append(its[over] / its[ours])
    return {shape: geomean(values) for shape, values in ratios.items()}


def kind(shape):
    its = layers.fields(shape)
    return "dense" if its["g"] == 1 else "depthwise" if its["g"] == its["c"] else "grouped"


WITH = "depthwise, with strategies for it"


class Compared:
    def __init__(self, ratios):
        self.n, self.mean, self.worst = len(ratios), geomean(ratios.values()), min(ratios.values())
        self.slower = sum(ratio < 1 for ratio in ratios.values())

    def __str__(self):
        return f"{self.mean:.2f}x, worst {self.worst:.2f}x, slower on {self.slower} of {self.n}"


# What is set beside what: (of cuDNN, of ours, the column's head).
PAIRS = [("cudnn", "ours", "FP32 over cuDNN's FP32, NCHW"), ("cudnn_any", "ours", "the same, NHWC too"),
         ("tf32", "ours", "FP32 over cuDNN's TF32"), ("tf32", "ours_tensor", "3xTF32 over cuDNN's TF32")]


def compared(rows, wanted):
    """head of PAIRS -> Compared, over the shapes that are wanted."""
    return {head: Compared({shape: ratio for shape, ratio in by_shape(rows, over, ours).items() if wanted(shape)})
            for over, ours, head in PAIRS}


def with_later(rows, ours, cudnn):
    """The rows of shapes that were run later too: our later time, and of cuDNN's the fastest of both recordings."""
    ours, cudnn = ({shape: its for (_, shape), its in later.items()} for later in (ours, cudnn))
    return {key: {**its, "ours": ours[key[1]]["ours"],
                  "cudnn_any": min(its["cudnn_any"], cudnn.get(key[1], {}).get("cudnn_any", math.inf))}
            for key, its in rows.items() if "ours" in ours.get(key[1], {})}


def layers_by_kind():
    """(GPU, kind) -> compared"""
    out = {}
    for gpu in layers.SETS[0].stated:
        rows = times(RECORDED / gpu / "layers.json.gz")
        for name in ("dense", "grouped", "depthwise"):
            out[gpu, name] = compared(rows, lambda shape: kind(shape) == name)
        if gpu in LATER:
            out[gpu, WITH] = compared(with_later(rows, *(times(RECORDED / gpu / name) for name in LATER[gpu])), lambda shape: True)
    return out


def networks_by_batch():
    """batch -> (layers, compared)"""
    out = {}
    for batch, name in NETWORKS.items():
        rows = times(RECORDED / "h200" / name)
        out[batch] = (len(rows), compared(rows, lambda shape: True))
    return out


def layers_table(kinds):
    return table(["GPU", "layers", *(head for *_, head in PAIRS)],
                 [[layers.NAMES[gpu], name, *map(str, its.values())] for (gpu, name), its in kinds.items()])


def networks_table(networks):
    return table(["batch", *(head for *_, head in PAIRS)], [[batch, *map(str, its.values())] for batch, (_, its) in networks.items()])


def reported(binary, recording, without=None):
    """study -> {(ours, against): row} of `convcast report`; `without`: a kernel of ours that does not count."""
    path, out = RECORDED / "h200" / f"{recording}.json.gz", {}
    with tempfile.TemporaryDirectory() as folder:
        if without:
            document = layers.read(path)
            document["cases"] = [case for case in document["cases"] if not case.get("strategy", "").startswith(without)]
            path = pathlib.Path(folder) / "run.json"
            path.write_text(json.dumps(document))
        for row in pages.answer(binary, "report", path)["speedups"]:
            out.setdefault(row["study"], {})[row["ours"].removesuffix(", as run"), row["against"]] = row
    return out


def all_won(row):
    """Mean and worst, where no shape is slower."""
    if row["wins"] != row["n"]:
        sys.exit(f"{row['study']}: ours is slower than {row['against']} on {row['n'] - row['wins']} of {row['n']} shapes; expected on none")
    return f"{row['geomean']:.2f}x, {row['min']:.2f}x"


def beside_cudnn(study):
    return [all_won(study["our fastest", against]) for against in ("cudnn", "cudnn, NHWC too")]


LAYOUTS = ["NCHW: mean, worst", "NHWC too: mean, worst"]


def studies_table(binary):
    rows = []
    for recording, names in STUDIES.items():
        found, direct = reported(binary, recording), reported(binary, recording, "winograd")
        for name in names:
            plain = direct[name]["our fastest", "cudnn"]
            papers = [f"{row['geomean']:.2f}x, faster on {row['wins']}: " + " or ".join(f"`{kernel}`" for kernel in ours.split("/")) +
                      (" by rule 4" if "/" in ours else "") for (ours, against), row in found[name].items() if not ours.startswith("our")]
            rows.append([f"`{name}`", plain["n"], *beside_cudnn(found[name]),
                         all_won(plain) if plain["wins"] == plain["n"] else f"{plain['geomean']:.2f}x", *(papers or [""])])
    return pages.table(["study", "shapes", *LAYOUTS, "ours without Winograd, NCHW: mean, worst", "the paper's kernel, as run, NCHW"], rows)


def whole_networks_table(binary, networks):
    """Of docs/results.md: the four networks' layers together."""
    rows = []
    for batch, said in (("1", "AlexNet, VGG-16, ResNet-18, ResNet-50, batch 1"), ("32", "the same, batch 32")):
        every = reported(binary, NETWORKS[batch].removesuffix(".json.gz"))["all"]
        count, compared = networks[batch]
        rows.append([said, f"{count}, of which {compared[PAIRS[0][-1]].n} differ", *beside_cudnn(every)])
        assert every["our fastest", "cudnn"]["n"] == count, "a layer of a network was not run"
    return pages.table(["layers", "shapes", *LAYOUTS], rows)


def groups():
    """(GPU, recording) -> for each of PAIRS[:2] its ratios, by shape: cuDNN may have been run apart from the study."""
    out = {}
    for gpu, name, _ in GROUPS:
        joined = {}
        for (_, shape), its in times(RECORDED / gpu / f"{name}.json.gz").items():
            joined.setdefault((None, shape), {}).update(its)
        out[gpu, name] = [by_shape(joined, over, ours) for over, ours, _ in PAIRS[:2]]
    return out


def groups_table(found):
    """Of each recording its shapes for which cuDNN was run: FP32 over cuDNN's in NCHW, and in any layout."""
    lines = [[layers.NAMES[gpu], what, *(str(Compared(ratios)) if ratios else "not run" for ratios in found[gpu, name])]
             for gpu, name, what in GROUPS]
    return table(["GPU", "shapes", *(head for *_, head in PAIRS[:2])], lines)


def sentences(kinds, networks, found):
    fp32, any_layout, tf32, _ = (head for *_, head in PAIRS)
    (count, one), (_, many) = networks["1"], networks["32"]
    dense, dense100 = (kinds[gpu, "dense"] for gpu in ("h200", "h100"))
    deep, deep100, few, few100 = (Compared(found[gpu, name][1]) for name in ("depthwise", "grouped") for gpu in ("h200", "h100"))
    assert deep.n == deep100.n, "the sentence is of the same layers on both GPUs"
    text = f"""Our fastest FP32 kernel is, in the geometric mean, {one[fp32].mean:.2f} times as fast as cuDNN's fastest FP32 on the same NCHW tensors at batch 1 (worst {one[fp32].worst:.2f}) and
{many[fp32].mean:.2f} times at batch 32 (worst {many[fp32].worst:.2f}), over the {one[fp32].n} different ones of {count} layers of AlexNet, VGG-16, ResNet-18 and ResNet-50 on an H200. Against cuDNN with TF32,
less accurate and PyTorch's default for convolutions, it is {one[tf32].mean:.2f} and {many[tf32].mean:.2f} times (at batch 32 slower on {many[tf32].slower} of {many[tf32].n}). On dense layers of the 15 other networks
it is {dense[fp32].mean:.2f} times as fast as cuDNN's FP32 (slower on {dense[fp32].slower} of {dense[fp32].n}), on an H100 {dense100[fp32].mean:.2f} times ({dense100[fp32].slower} of {dense100[fp32].n}). On {deep.n} depthwise
layers of six networks the fastest setting that was run is {deep.mean:.2f} times as fast as cuDNN's plans for any layout on an H200 (worst {deep.worst:.2f}, slower on {deep.slower}), on an H100 {deep100.mean:.2f} times
(worst {deep100.worst:.2f}, slower on {deep100.slower}; the setting that `choose` takes is [slower on a few](docs/speedups.md#depthwise-and-grouped-layers)), and on {few.n} grouped layers {few.mean:.2f} and {few100.mean:.2f} times (slower on {few.slower} and {few100.slower})."""
    return text


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--update"], ["--print"]):
        sys.exit(__doc__)
    binary, *how = arguments
    kinds, networks, found = layers_by_kind(), networks_by_batch(), groups()
    if how == ["--print"]:
        print(studies_table(binary), layers_table(kinds), groups_table(found), networks_table(networks), sentences(kinds, networks, found), sep="\n\n")
        for gpu in layers.SETS[0].stated:
            for shape, ratio in sorted(by_shape(times(RECORDED / gpu / "layers.json.gz"), "cudnn_any", "ours").items(), key=lambda x: x[1]):
                if ratio < 1:
                    print(f"{layers.NAMES[gpu]} {kind(shape):9} {ratio:.2f} {shape}")
        return 0
    page = DOCS / "speedups.md"
    pages.keep_blocks([(page, "studies", studies_table(binary)), (page, "layers", layers_table(kinds)), (page, "groups", groups_table(found)),
                       (page, "networks", networks_table(networks)), (DOCS / "results.md", "cudnn", whole_networks_table(binary, networks)),
                       (README, "speedups", sentences(kinds, networks, found))], how)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
