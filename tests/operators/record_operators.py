#!/usr/bin/env python3
"""Has onnxruntime compute the ONNX files of a folder on the CPU, and records what they give.

    python3 tests/operators/record_operators.py tests/operators/cases tests/operators/recorded.json

Needs onnxruntime and numpy. The images are made by a formula, which tests/unit/model_operators_recorded_test.cpp has too: number i
of the input is (h(i) >> 8) / 2^21 - 4, from -4 to 4 and exact in float32, where h of 32 bits is

    h = 2654435761 i mod 2^32,  h = h xor (h >> 15),  h = 2246822519 h mod 2^32,  h = h xor (h >> 13).

Where a file leaves the number of images open, two are taken. Outputs are recorded in the fewest digits that give the float32 again.
A file that onnxruntime refuses is named, is not in the record, and the exit status is 1.
"""
import argparse
import datetime
import hashlib
import json
import math
import pathlib
import sys

try:
    import numpy
    import onnxruntime
except ImportError as missing:
    print(f"record_operators.py: {missing}", file=sys.stderr)
    sys.exit(2)

IMAGES = 2  # where the file does not say how many


def images_of(sizes):
    mask = numpy.uint64(2**32 - 1)
    value = numpy.arange(math.prod(sizes), dtype=numpy.uint64) * numpy.uint64(2654435761) & mask
    value = (value ^ value >> numpy.uint64(15)) * numpy.uint64(2246822519) & mask
    value ^= value >> numpy.uint64(13)
    return ((value >> numpy.uint64(8)).astype(numpy.float64) / 2**21 - 4.0).astype(numpy.float32).reshape(sizes)


def recorded(path):
    content = path.read_bytes()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors; what it says of unused weights is left out
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    image = session.get_inputs()[0]  # files of earlier versions name their weights behind it
    sizes = [size if isinstance(size, int) else IMAGES for size in image.shape]
    outputs = []
    for values in session.run(None, {image.name: images_of(sizes)}):
        if values.dtype != numpy.float32 or not numpy.isfinite(values).all():
            raise ValueError(f"it gives {values.dtype}, not all of them finite floats")
        outputs.append({"sizes": list(values.shape), "values": [float(str(value)) for value in values.ravel()]})
    return {"name": path.stem, "sha256": hashlib.sha256(content).hexdigest(), "input": sizes, "outputs": outputs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    lines, failed = [], 0
    for path in sorted(arguments.folder.glob("*.onnx"), key=lambda each: each.stem):
        try:
            lines.append(json.dumps(recorded(path), separators=(",", ":")))
        except Exception as error:  # its classes differ between versions
            print(f"{path.name}: {str(error)[:300]}")
            failed += 1
    arguments.out.write_text(f'{{"onnxruntime": "{onnxruntime.__version__}", "date": "{datetime.date.today().isoformat()}", '
                             '"cases": [\n' + ",\n".join(lines) + "\n]}\n")
    print(f"{len(lines)} cases recorded, {failed} refused, {arguments.out.stat().st_size} bytes")
    return 1 if failed or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
