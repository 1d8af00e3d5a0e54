#!/usr/bin/env python3
"""Times alexnet, vgg16, resnet18 and resnet50 in PyTorch on the GPU at hand, beside runs of convcast.

    python3 tests/gpu/torch_networks.py [--batch 1 --batch 32] [-o torch.json] [resnet50_b32.json ...]

Each network in every setting of SETTINGS: eager and by torch.compile, contiguous and channels_last, and the same with TF32,
which is PyTorch's default for convolutions and rounds inputs to 11 bits. Batch norm is folded into the convolutions,
cudnn.benchmark is on, and one CUDA graph is replayed in rows between two events: median of the rows. The documents are of
`convcast run --network`, which computes in FP32; their measured `time_s` is taken the same way, and they are compared with the
fastest FP32 setting. PyTorch is no dependency of convcast: without it this says so and exits with 2.
"""
import argparse
import datetime
import json
import statistics
import sys

try:
    import torch
    from torch import nn
except ImportError:
    print("torch_networks.py: PyTorch is not installed here", file=sys.stderr)
    sys.exit(2)

ROWS, ROW_SECONDS = 15, 0.02
# name -> (TF32, compiled, channels_last)
SETTINGS = {"contiguous": (False, False, False), "channels_last": (False, False, True),
            "compiled": (False, True, False), "compiled_channels_last": (False, True, True),
            "tf32": (True, False, False), "tf32_channels_last": (True, False, True),
            "tf32_compiled_channels_last": (True, True, True)}


def conv(inputs, outputs, window, stride=1, pad=0):
    """A convolution with its batch norm folded in."""
    return nn.Conv2d(inputs, outputs, window, stride, pad)


def dense_layers(inputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 4096), nn.ReLU(True), nn.Linear(4096, 4096), nn.ReLU(True),
                         nn.Linear(4096, 1000))


def alexnet():
    return nn.Sequential(conv(3, 64, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2), conv(64, 192, 5, 1, 2), nn.ReLU(True),
                         nn.MaxPool2d(3, 2), conv(192, 384, 3, 1, 1), nn.ReLU(True), conv(384, 256, 3, 1, 1), nn.ReLU(True),
                         conv(256, 256, 3, 1, 1), nn.ReLU(True), nn.MaxPool2d(3, 2), dense_layers(256 * 6 * 6))


def vgg16():
    layers, channels = [], 3
    for count, outputs in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            layers += [conv(channels, outputs, 3, 1, 1), nn.ReLU(True)]
            channels = outputs
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, dense_layers(512 * 7 * 7))


class Block(nn.Module):
    """Two 3 x 3 convolutions, or 1 x 1, 3 x 3 and 1 x 1, beside a shortcut."""

    def __init__(self, inputs, width, outputs, stride, bottleneck):
        super().__init__()
        if bottleneck:
            self.path = nn.Sequential(conv(inputs, width, 1), nn.ReLU(True), conv(width, width, 3, stride, 1), nn.ReLU(True),
                                      conv(width, outputs, 1))
        else:
            self.path = nn.Sequential(conv(inputs, width, 3, stride, 1), nn.ReLU(True), conv(width, outputs, 3, 1, 1))
        self.short = conv(inputs, outputs, 1, stride) if stride != 1 or inputs != outputs else nn.Identity()

    def forward(self, x):
        return torch.relu_(self.path(x).add_(self.short(x)))


def resnet(counts, bottleneck):
    layers = [conv(3, 64, 7, 2, 3), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, count in enumerate(counts):
        width = 64 << stage
        outputs = width * (4 if bottleneck else 1)
        for block in range(count):
            layers.append(Block(channels, width, outputs, 2 if stage > 0 and block == 0 else 1, bottleneck))
            channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


NETWORKS = {"alexnet": alexnet, "vgg16": vgg16, "resnet18": lambda: resnet((2, 2, 2, 2), False),
            "resnet50": lambda: resnet((3, 4, 6, 3), True)}


def replayed_seconds(model, images):
    """Of one replay of a graph of model(images), median of rows of replays."""
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):  # cudnn.benchmark picks its algorithms
            model(images)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(images)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def row(replays):
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3 / replays

    row(3)
    replays = min(100, max(5, int(ROW_SECONDS / row(3))))
    row(replays)
    return statistics.median(row(replays) for _ in range(ROWS))


def times_of(name, batch):
    """Seconds of one call by the name of its setting."""
    times = {}
    for setting, (tf32, compiled, channels_last) in SETTINGS.items():
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        layout = torch.channels_last if channels_last else torch.contiguous_format
        model = NETWORKS[name]().eval().cuda().to(memory_format=layout)
        images = torch.randn(batch, 3, 224, 224, device="cuda").contiguous(memory_format=layout)
        if compiled:
            torch.compiler.reset()
            model = torch.compile(model, dynamic=False)
        times[setting] = replayed_seconds(model, images)
        del model, images
        torch.cuda.empty_cache()
    return times


def fastest(times, tf32):
    return min((time, setting) for setting, time in times.items() if SETTINGS[setting][0] == tf32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="documents of convcast run --network")
    parser.add_argument("--network", action="append", choices=sorted(NETWORKS), help="repeatable; default all")
    parser.add_argument("--batch", action="append", type=int, help="repeatable; default 1 and 32")
    parser.add_argument("-o", "--output", help="write the times to a file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_networks.py: PyTorch sees no GPU")
    torch.backends.cudnn.benchmark = True
    ours = {}
    for file in arguments.runs:
        with open(file, encoding="utf-8") as document:
            run = json.load(document)
        for case in run["cases"]:
            ours[run["network"], case["batch"]] = case.get("measured", {}).get("time_s")
    document = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "gpu": torch.cuda.get_device_name(),
                "date": datetime.date.today().isoformat(), "times_s": []}
    print(f"PyTorch {document['torch']}, cuDNN {document['cudnn']}, {document['gpu']}; milliseconds")
    print(f"{'network':10} {'batch':>5} {'eager':>8} {'fastest FP32':>13} {'fastest TF32':>13} {'convcast':>9} {'FP32 / convcast':>16}")
    for batch in arguments.batch or (1, 32):
        for name in arguments.network or NETWORKS:
            times = times_of(name, batch)
            (fp32, setting), (tf32, _) = fastest(times, False), fastest(times, True)
            mine = ours.get((name, batch))
            document["times_s"].append({"network": name, "batch": batch, **times})
            shown = ("-", "-") if not mine else (f"{mine * 1e3:.3f}", f"{fp32 / mine:.2f}")
            print(f"{name:10} {batch:5} {times['contiguous'] * 1e3:8.3f} {fp32 * 1e3:13.3f} {tf32 * 1e3:13.3f} {shown[0]:>9} "
                  f"{shown[1]:>16}  {setting}", flush=True)
            if arguments.output:  # after each row, so that an interrupted sitting keeps what it has
                with open(arguments.output, "w", encoding="utf-8") as file:
                    json.dump(document, file, indent=1)
                    file.write("\n")


if __name__ == "__main__":
    main()
