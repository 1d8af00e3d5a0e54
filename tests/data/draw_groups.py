#!/usr/bin/env python3
"""Draws the studies depthwise_random and grouped_random: sizes that nobody chose, for a forecast that was made before they were
drawn. `awkward` draws a thousand shapes that are small and odd in every way, to look for wrong results.

    draw_groups.py depthwise COMMIT > data/studies/depthwise_random.json
    draw_groups.py grouped COMMIT > data/studies/grouped_random.json
    draw_groups.py awkward COMMIT > awkward.json    # convcast run --study awkward.json --strategy depthwise_register ...

COMMIT is the last one that changed what is to be judged; its first eight digits are the seed.
"""
import json
import random
import sys

SHAPES = {"depthwise": 40, "grouped": 24, "awkward": 1000}
COMMON = ", strides 1 and 2, dilations 1 and 2, the padding that keeps the map"
WHAT = {"depthwise": "1 to 32 images, 8 to 1,024 channels, maps of 7 to 160, filters of 3 to 11" + COMMON,
        "grouped": "1 to 32 images, 2 to 64 groups of 2 to 32 channels and as many or twice as many filters, maps of 7 to 112, "
                   "filters of 1 to 5" + COMMON,
        "awkward": "1 to 5 images, 1 to 48 channels a group, up to 4 filters for each, maps and filters of unequal sides, filters "
                   "to 31 x 31, strides to 5, dilations to 3, any padding"}


def depthwise():
    images, channels = random.choice([1, 2, 4, 8, 16, 32]), random.randint(8, 1024)
    height, filter_size = random.randint(7, 160), random.choice([3, 3, 3, 5, 5, 7, 9, 11])
    width = height if random.random() < 0.7 else random.randint(7, 160)
    return images, channels, channels, channels, height, width, filter_size


def grouped():
    images, groups, channels = random.choice([1, 2, 4, 8, 16, 32]), random.randint(2, 64), random.choice([2, 4, 6, 8, 8, 16, 24, 32])
    height, filter_size = random.randint(7, 112), random.choice([1, 3, 3, 3, 5])
    width = height if random.random() < 0.7 else random.randint(7, 112)
    return images, groups, groups * channels, groups * channels * random.choice([1, 1, 1, 2]), height, width, filter_size


def awkward():
    """A small shape whose every size is odd in its own way, or None where the filter is larger than the padded map."""
    images, groups = random.randint(1, 5), random.randint(2, 40)
    channels = random.choice([1] * 9 + [2, 3, 4, 5, 7, 8, 11, 16, 24, 32, 48])
    height, width = random.randint(1, 70), random.randint(1, 70)
    most = random.choice([3, 3, 5, 7, 12, 31])
    r, s = random.randint(1, most), random.randint(1, most)
    stride, dilation = [(random.choice(few), random.choice(few)) for few in ([1, 1, 2, 2, 3, 5], [1, 1, 1, 2, 3])]
    pad = random.randint(0, r), random.randint(0, s)
    reaches = [(f - 1) * d < size + 2 * p for f, d, size, p in zip((r, s), dilation, (height, width), pad)]
    if not all(reaches) or images * groups * channels * height * width > 4_000_000:
        return None
    filters = groups * random.choice([channels, channels, 1, 2, 3, 4 * channels])
    parts = [f"n{images}c{groups * channels}h{height}w{width}k{filters}r{r}s{s}", f"str{stride[0]}x{stride[1]}",
             f"pad{pad[0]}x{pad[1]}", f"dil{dilation[0]}x{dilation[1]}", f"g{groups}"]
    return "_".join(part for part in parts if part not in ("str1x1", "pad0x0", "dil1x1"))


def one(kind):
    """A shape, or None where the input is very small or large."""
    if kind == "awkward":
        return awkward()
    images, groups, channels, filters, height, width, filter_size = {"depthwise": depthwise, "grouped": grouped}[kind]()
    stride, dilation = random.choice([1, 1, 2]), random.choice([1, 1, 1, 2])
    pad = (filter_size - 1) * dilation // 2
    if not 20_000 < images * channels * height * width < 40_000_000:
        return None
    parts = [f"n{images}c{channels}h{height}w{width}k{filters}r{filter_size}s{filter_size}",
             f"str{stride}x{stride}" if stride > 1 else "", f"pad{pad}x{pad}" if pad else "",
             f"dil{dilation}x{dilation}" if dilation > 1 else "", f"g{groups}"]
    return "_".join(part for part in parts if part)


kind, commit = sys.argv[1:]
random.seed(int(commit[:8], 16))
shapes = []
while len(shapes) < SHAPES[kind]:
    shape = one(kind)
    if shape and shape not in shapes:
        shapes.append(shape)
json.dump({"schema": "convcast/study/1", "id": f"{kind}_random", "title": f"{kind.capitalize()} shapes drawn at random",
           "citation": f"drawn by `tests/data/draw_groups.py {kind} {commit[:8]}`, a commit of this project: {WHAT[kind]}",
           "shapes": shapes}, sys.stdout, indent=2)
print()
