#!/usr/bin/env python3
"""Writes data/images/fashion_mnist.json: of each class of Fashion-MNIST the first test image, in 16 greys.

usage: draw_images.py [FOLDER] [--check]   FOLDER has t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz; without one
                                           /usr/share/datasets/fashion-mnist of Debian's package dataset-fashion-mnist
--check writes nothing and ends with 1 if the file would change.
"""
import gzip
import pathlib
import struct
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
CLASSES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    folder = pathlib.Path(words[0] if words else "/usr/share/datasets/fashion-mnist")
    pixels = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    height, width = struct.unpack(">II", pixels[8:16])
    images = []
    for label, name in enumerate(CLASSES):
        number = labels.index(label)
        start = 16 + number * height * width
        rows = [pixels[start + y * width:start + (y + 1) * width] for y in range(height)]
        lines = ",\n".join('        "' + "".join(f"{(pixel + 8) // 17:x}" for pixel in row) + '"' for row in rows)
        images.append(f'    {{\n      "name": "{name}",\n      "number": {number},\n      "rows": [\n{lines}\n      ]\n    }}')
    text = "\n".join([
        "{",
        '  "schema": "convcast/images/1",',
        '  "title": "Fashion-MNIST, of each class the first test image",',
        '  "licence": "Copyright 2017 Zalando SE, MIT licence; https://github.com/zalandoresearch/fashion-mnist",',
        '  "images": [',
        ",\n".join(images),
        "  ]",
        "}\n"])
    file = SOURCE / "data" / "images" / "fashion_mnist.json"
    if "--check" in sys.argv:
        return int(file.read_text() != text)
    file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
