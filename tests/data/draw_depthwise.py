#!/usr/bin/env python3
"""Draws the study data/studies/depthwise_random.json: sizes that nobody chose, for a forecast that was made before they were drawn.

    draw_depthwise.py COMMIT > data/studies/depthwise_random.json

COMMIT is the last one that changed what is to be judged; its first eight digits are the seed.
"""
import json
import random
import sys

SHAPES = 40


def one():
    images, channels = random.choice([1, 2, 4, 8, 16, 32]), random.randint(8, 1024)
    height, filter_size = random.randint(7, 160), random.choice([3, 3, 3, 5, 5, 7, 9, 11])
    width = height if random.random() < 0.7 else random.randint(7, 160)
    stride, dilation = random.choice([1, 1, 2]), random.choice([1, 1, 1, 2])
    pad = (filter_size - 1) * dilation // 2
    elements = images * channels * height * width
    if not 20_000 < elements < 40_000_000:
        return None
    parts = [f"n{images}c{channels}h{height}w{width}k{channels}r{filter_size}s{filter_size}",
             f"str{stride}x{stride}" if stride > 1 else "", f"pad{pad}x{pad}", f"dil{dilation}x{dilation}" if dilation > 1 else "",
             f"g{channels}"]
    return "_".join(part for part in parts if part)


commit = sys.argv[1]
random.seed(int(commit[:8], 16))
shapes = []
while len(shapes) < SHAPES:
    shape = one()
    if shape and shape not in shapes:
        shapes.append(shape)
json.dump({"schema": "convcast/study/1", "id": "depthwise_random", "title": "Depthwise shapes drawn at random",
           "citation": f"drawn by `tests/data/draw_depthwise.py {commit[:8]}`, a commit of this project: 1 to 32 images, 8 to 1,024 "
                       "channels, maps of 7 to 160, filters of 3 to 11, strides 1 and 2, dilations 1 and 2, the padding that keeps the map",
           "shapes": shapes}, sys.stdout, indent=2)
print()
