#!/usr/bin/env python3
"""Draws the studies depthwise_random and grouped_random: sizes that nobody chose, for a forecast that was made before they were
drawn.

    draw_groups.py depthwise COMMIT > data/studies/depthwise_random.json
    draw_groups.py grouped COMMIT > data/studies/grouped_random.json

COMMIT is the last one that changed what is to be judged; its first eight digits are the seed.
"""
import json
import random
import sys

SHAPES = {"depthwise": 40, "grouped": 24}
WHAT = {"depthwise": "8 to 1,024 channels, maps of 7 to 160, filters of 3 to 11",
        "grouped": "2 to 64 groups of 2 to 32 channels and as many or twice as many filters, maps of 7 to 112, filters of 1 to 5"}


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


def one(kind):
    """A shape, or None where the input is very small or large."""
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
           "citation": f"drawn by `tests/data/draw_groups.py {kind} {commit[:8]}`, a commit of this project: 1 to 32 images, {WHAT[kind]}, "
                       "strides 1 and 2, dilations 1 and 2, the padding that keeps the map",
           "shapes": shapes}, sys.stdout, indent=2)
print()
