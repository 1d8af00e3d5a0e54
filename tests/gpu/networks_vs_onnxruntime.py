#!/usr/bin/env python3
"""Networks of torchvision, exported to ONNX here, run by convcast: right by onnxruntime, and timed beside PyTorch.

    python3 tests/gpu/networks_vs_onnxruntime.py CONVCAST OUT [--network NAME ...] [--batch 1 --batch 32] [--torch SETTING] [--gpu FILE]
    python3 tests/gpu/networks_vs_onnxruntime.py CONVCAST OUT --draw 12 --seed abc1234 [--export-only]

NAME is one of torchvision's, or timm/ and one of timm's. --draw takes so many of timm's convolutional networks at random, the same
ones for the same seed: a test that is blind if the seed is the hash of a commit behind the last change to the model. --export-only
writes the ONNX files into OUT, needs no GPU, and runs nothing, CONVCAST neither. Otherwise each network gets the weights and the
images of convcast's run (`--save-tensors`), and onnxruntime's outputs on the CPU must agree within 1e-4 in relative L2 at the
smallest batch. With --torch each is timed in PyTorch too: batch norm folded, eager and by torch.compile, contiguous and
channels_last, with and without TF32, as tests/gpu/torch_networks.py does. OUT gets the
documents of `convcast run`, the network's file that each was imported to, and networks.json, a line of which is a network and a batch: onnxruntime's distance, forecast,
measured time, PyTorch's times. Needs PyTorch, torchvision, onnx, onnxruntime and a GPU; without them it says so and exits
with 2.
"""
import argparse
import datetime
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import onnx
    import onnxruntime
    import torch
    import torchvision
except ImportError as missing:
    print(f"networks_vs_onnxruntime.py: {missing}", file=sys.stderr)
    sys.exit(2)

# Input sizes other than 224 x 224.
SIZES = {"inception_v3": 299}
CLASSIFIERS = ["alexnet", "convnext_tiny", "densenet121", "densenet201", "efficientnet_b0", "efficientnet_v2_s", "googlenet",
               "inception_v3", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small", "regnet_x_1_6gf",
               "regnet_y_800mf", "regnet_y_1_6gf", "resnet18", "resnet34", "resnet50", "resnet101", "resnext50_32x4d",
               "shufflenet_v2_x1_0", "squeezenet1_1", "vgg11_bn", "vgg16", "wide_resnet50_2"]
SEGMENTERS = ["fcn_resnet50", "deeplabv3_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
BACKBONES = ["resnet50_fpn", "mobilenet_v3_large_fpn"]
LIMIT = 1e-4
# Of timm's networks those whose names say that they are convolutional and small.
DRAWN_FROM = re.compile(
    r"(cs3?(darknet|resnet|resnext)|darknet|dla\d|ese_vovnet|fbnet|gernet|ghostnet|hardcorenas|hrnet_w18|lcnet|mixnet|mnasnet|mobilenetv|"
    r"mobileone|regnet[xy]_0|repvgg_[ab][01]|res2net50|resnet(18|26|33|34|50)|resnext(26|50)|rexnet|selecsls|semnasnet|skresnet|spnasnet|"
    r"tinynet|tf_efficientnet_(b[012]|lite)|efficientnet_(b[012]|es|lite)|convnext_(atto|femto|pico|nano)|xception41)")


class Outputs(torch.nn.Module):
    """The tensors that a network gives, without the names of a dictionary."""

    def __init__(self, network, names=None):
        super().__init__()
        self.network, self.names = network, names

    def forward(self, images):
        found = self.network(images)
        if not isinstance(found, dict):
            return found
        return tuple(found[name] for name in (self.names or found))


def network_of(name):
    if name == "resnet50_fpn":
        return Outputs(torchvision.models.detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet50", weights=None))
    if name == "mobilenet_v3_large_fpn":
        return Outputs(torchvision.models.detection.backbone_utils.mobilenet_backbone(
            "mobilenet_v3_large", weights=None, fpn=True))
    if name.startswith("timm/"):
        import timm
        return timm.create_model(name.removeprefix("timm/"), pretrained=False)
    options = {"weights": None}
    if name in SEGMENTERS:
        return Outputs(torchvision.models.get_model(name, weights_backbone=None, **options), ["out"])
    if name in ("googlenet", "inception_v3"):
        options |= {"aux_logits": False, "init_weights": False}
    return torchvision.models.get_model(name, **options)


def drawn(count, seed):
    import timm
    names = sorted(name for name in timm.list_models() if DRAWN_FROM.match(name))
    return ["timm/" + name for name in random.Random(seed).sample(names, min(count, len(names)))]


def size_of_input(name):
    if name.startswith("timm/"):
        import timm
        return timm.get_pretrained_cfg(name.removeprefix("timm/")).input_size[-1]
    return SIZES.get(name, 224)


def exported(name, size, path):
    """Writes the network to a file and gives it back, in evaluation."""
    model = network_of(name).eval()
    with torch.no_grad():
        torch.onnx.export(model, (torch.zeros(1, 3, size, size),), path, input_names=["images"], opset_version=18,
                          dynamic_axes={"images": {0: "batch"}}, dynamo=False)
    return model


def with_tensors(path, tensors, to):
    """The file with the parameters that convcast ran; batch norm becomes what was folded."""
    model = onnx.load(path)
    graph = model.graph
    network = json.loads((tensors / "network.json").read_text())
    parameters = {op["name"]: numpy.load(tensors / f"parameters_{i}.npy")
                  for i, op in enumerate(network["operators"]) if (tensors / f"parameters_{i}.npy").exists()}
    alias = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Identity"}
    sizes = {each.name: list(each.dims) for each in graph.initializer}

    def size_of(tensor):
        while tensor in alias:
            tensor = alias[tensor]
        return sizes.get(tensor)

    def put(node, at, values):
        fresh = f"{node.name}:{at}"
        graph.initializer.append(onnx.numpy_helper.from_array(values.astype(numpy.float32), fresh))
        node.input[at] = fresh

    for node in graph.node:
        name = node.name
        if name in parameters and node.op_type in ("Conv", "ConvTranspose", "Gemm"):
            put(node, 1, parameters[name].reshape(size_of(node.input[1])))
        elif name in parameters and node.op_type == "MatMul":  # outputs by inputs here, inputs by outputs there
            put(node, 1, parameters[name].reshape(size_of(node.input[1])[::-1]).T)
        elif name in parameters and node.op_type in ("Add", "Mul"):
            at = next(i for i in (0, 1) if size_of(node.input[i]))
            put(node, at, parameters[name].reshape(size_of(node.input[at])))
        if name + ".bias" in parameters and node.op_type in ("Conv", "ConvTranspose", "Gemm"):
            put(node, 2, parameters[name + ".bias"])
        if node.op_type == "LayerNormalization":
            put(node, 1, parameters[name + ".scale"])
            put(node, 2, parameters[name + ".bias"])
        if node.op_type == "BatchNormalization":
            bias = parameters[name + ".bias"]
            epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
            for at, values in enumerate((parameters.get(name + ".scale", numpy.ones_like(bias)), bias,
                                         numpy.zeros_like(bias), numpy.full_like(bias, 1.0 - epsilon)), 1):
                put(node, at, values)
    onnx.save(model, to)
    return network


def distance(path, tensors):
    """Relative L2 of convcast's outputs from onnxruntime's."""
    network = with_tensors(path, tensors, tensors / "same.onnx")
    session = onnxruntime.InferenceSession(str(tensors / "same.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: numpy.load(tensors / "input.npy")})
    names = [op["name"] for op in network["operators"]]
    ours = [numpy.load(tensors / f"output_{names.index(name)}.npy") for name in network.get("outputs", names[-1:])]
    worst = 0.0
    for theirs, mine in zip(found, ours, strict=True):
        off = mine.reshape(theirs.shape).astype(numpy.float64) - theirs
        worst = max(worst, float(numpy.linalg.norm(off) / numpy.linalg.norm(theirs.astype(numpy.float64))))
    return worst


def folded(model):
    """Batch norm put into the convolutions before it, where PyTorch can."""
    try:
        return torch.fx.experimental.optimization.fuse(model)
    except Exception:  # what it cannot trace stays as it is
        return model


def torch_times(name, batch, size, settings):
    import torch.fx.experimental.optimization  # noqa: F401
    import torch_networks
    torch.backends.cudnn.benchmark = True
    times = {}
    for setting in settings:
        tf32, compiled, channels_last = torch_networks.SETTINGS[setting]
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        layout = torch.channels_last if channels_last else torch.contiguous_format
        try:
            model = folded(network_of(name).eval()).cuda().to(memory_format=layout)
            images = torch.randn(batch, 3, size, size, device="cuda").contiguous(memory_format=layout)
            if compiled:
                torch.compiler.reset()
                model = torch.compile(model, dynamic=False)
            times[setting] = torch_networks.replayed_seconds(model, images)
        except Exception as error:
            print(f"  PyTorch, {setting}: {str(error)[:100]}", file=sys.stderr)
        torch.cuda.empty_cache()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("convcast")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--network", action="append")
    parser.add_argument("--batch", action="append", type=int)
    parser.add_argument("--torch", action="append", metavar="SETTING", help="repeatable: contiguous, channels_last, compiled ...")
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--seed", default="")
    parser.add_argument("--gpu", metavar="FILE", help="the profile to forecast from")
    parser.add_argument("--export-only", action="store_true", help="write OUT/NAME.onnx, run nothing")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no network after that time")
    arguments = parser.parse_args()
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    arguments.out.mkdir(parents=True, exist_ok=True)
    batches = sorted(arguments.batch or (1, 32))
    document = {"torch": torch.__version__, "torchvision": torchvision.__version__, "onnxruntime": onnxruntime.__version__,
                "gpu": "" if arguments.export_only else torch.cuda.get_device_name(), "date": datetime.date.today().isoformat(), "runs": []}
    began, failed = time.monotonic(), 0
    if arguments.draw:
        arguments.network, document["seed"] = drawn(arguments.draw, arguments.seed), arguments.seed
    for name in arguments.network or CLASSIFIERS + SEGMENTERS + BACKBONES:
        if time.monotonic() - began > arguments.seconds:
            print(f"{name}: no time left")
            continue
        size, file = size_of_input(name), name.replace("/", "_")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{file}.onnx"
            try:
                exported(name, size, str(path))
            except Exception as error:
                print(f"{name}: not exported: {str(error)[:200]}")
                failed += 1
                continue
            if arguments.export_only:
                shutil.copy(path, arguments.out)
                continue
            for batch in batches:
                run = arguments.out / f"{file}_b{batch}.json"
                tensors = pathlib.Path(folder) / "tensors"
                command = [arguments.convcast, "run", "--network", str(path), "--batch", str(batch), "-o", str(run)]
                if arguments.gpu:
                    command += ["--gpu", arguments.gpu]
                if batch == batches[0]:
                    command += ["--save-tensors", str(tensors)]
                done = subprocess.run(command, capture_output=True, text=True)
                row = {"network": name, "batch": batch}
                document["runs"].append(row)
                if done.returncode != 0:
                    row["error"] = done.stderr.strip().replace(f"{folder}/", "")[:300]
                    failed += 1
                else:
                    [answer] = json.loads(run.read_text())["cases"]
                    row |= {"forecast_s": answer["forecast"]["time_s"], "measured_s": answer["measured"]["time_s"],
                            "l2_error": answer["output_error"]}
                    if batch == batches[0]:
                        try:
                            shutil.copy(tensors / "network.json", arguments.out / f"{file}.network.json")
                            row["onnxruntime"] = distance(path, tensors)
                        except Exception as error:
                            row["onnxruntime_error"] = str(error)[:300]
                        failed += not row.get("onnxruntime", 1.0) <= LIMIT
                if arguments.torch:
                    row["torch_s"] = torch_times(name, batch, size, arguments.torch)
                shown = dict(row)
                for key in ("forecast_s", "measured_s"):
                    if key in shown:
                        shown[key] = f"{shown[key] * 1e6:.1f} us"
                if "measured_s" in row:
                    shown["ratio"] = f"{row['forecast_s'] / row['measured_s']:.3f}"
                if row.get("torch_s"):
                    shown["torch_s"] = {key: f"{value * 1e6:.0f} us" for key, value in row["torch_s"].items()}
                print(json.dumps(shown), flush=True)
                (arguments.out / "networks.json").write_text(json.dumps(document, indent=1) + "\n")
                shutil.rmtree(tensors, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
