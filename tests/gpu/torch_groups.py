#!/usr/bin/env python3
"""Times the convolutions of a study in PyTorch on the GPU at hand: by PyTorch's own kernels, without cuDNN, and by what it takes with
cuDNN, which is timed first (cudnn.benchmark).

    python3 tests/gpu/torch_groups.py data/studies/depthwise.json [-o torch.json] [--seconds 60]

In FP32 without TF32. A call's time is that of its kernels, from the start of the first to the end of the last, by CUPTI through
torch.profiler; before each call L2 is emptied by a fill of 256 MB. Median of 11 calls. PyTorch is no dependency of convcast: without it
this says so and exits with 2. After --seconds what is left of the study is left out.
"""
import argparse
import datetime
import json
import re
import statistics
import sys
import time

try:
    import torch
    from torch.profiler import ProfilerActivity, profile
except ImportError:
    print("torch_groups.py: PyTorch is not installed here", file=sys.stderr)
    sys.exit(2)

CALLS, FLUSH_BYTES = 11, 256 << 20
# name -> (cuDNN, channels_last)
SETTINGS = {"own": (False, False), "own_channels_last": (False, True), "cudnn": (True, False), "cudnn_channels_last": (True, True)}


def sizes(shape):
    """The letters of a shape's text, and its pairs: stride, padding, dilation."""
    letters = {name: int(value) for name, value in re.findall(r"([nchwkrs])(\d+)", shape.split("_")[0])}
    pairs = {name: (int(high), int(wide)) for name, high, wide in re.findall(r"(str|pad|dil)(\d+)x(\d+)", shape)}
    groups = re.search(r"_g(\d+)", shape)
    return letters, pairs, int(groups.group(1)) if groups else 1


def cold_seconds(call, flush):
    """Median over CALLS of a call's kernels, from the first one's start to the last one's end."""
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        for _ in range(CALLS):
            flush.fill_(1)
            call()
        flush.fill_(1)
        torch.cuda.synchronize()
    kernels = sorted(((event.time_range.start, event.time_range.end, event.name) for event in trace.events()
                      if event.device_type == torch.autograd.DeviceType.CUDA))
    times, mine = [], []
    for start, end, name in kernels:
        if "FillFunctor" in name:
            if mine:
                times.append(mine[-1][1] - mine[0][0])
            mine = []
        else:
            mine.append((start, end))
    return statistics.median(times) * 1e-6


def times_of(shape, flush):
    """Seconds by the name of the setting."""
    size, pairs, groups = sizes(shape)
    times = {}
    for setting, (cudnn, channels_last) in SETTINGS.items():
        layout = torch.channels_last if channels_last else torch.contiguous_format
        images = torch.randn(size["n"], size["c"], size["h"], size["w"], device="cuda").contiguous(memory_format=layout)
        filters = torch.randn(size["k"], size["c"] // groups, size["r"], size["s"], device="cuda").contiguous(memory_format=layout)
        with torch.no_grad(), torch.backends.cudnn.flags(enabled=cudnn, benchmark=True, allow_tf32=False):
            times[setting] = cold_seconds(lambda: torch.nn.functional.conv2d(
                images, filters, None, pairs.get("str", (1, 1)), pairs.get("pad", (0, 0)), pairs.get("dil", (1, 1)), groups), flush)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", help="a study document of convcast")
    parser.add_argument("-o", "--output", help="write the times to a file")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no shape after so many seconds")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_groups.py: PyTorch sees no GPU")
    with open(arguments.study, encoding="utf-8") as file:
        study = json.load(file)
    document = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "gpu": torch.cuda.get_device_name(),
                "date": datetime.date.today().isoformat(), "study": study["id"], "times_s": []}
    flush, began = torch.empty(FLUSH_BYTES // 4, device="cuda"), time.monotonic()
    for shape in study["shapes"]:
        if time.monotonic() - began > arguments.seconds:
            break
        times = times_of(shape, flush)
        document["times_s"].append({"shape": shape, **times})
        print(f"{shape:45}", *(f"{name} {seconds * 1e6:.2f} us" for name, seconds in times.items()), flush=True)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
