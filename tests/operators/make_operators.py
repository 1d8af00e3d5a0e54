#!/usr/bin/python3
"""Writes small ONNX files, a case each, which cover the nodes that convcast reads: tests/operators/cases, and cases.json beside it.

    tests/operators/make_operators.py build/gpu/cli/convcast-onnx           write them
    tests/operators/make_operators.py build/gpu/cli/convcast-onnx --check   whether cases.json is what convcast-onnx says of them

The files are the same each time. cases.json has of each file its SHA-256, the graph as convcast-onnx gives it to the model library,
and the numbers of its weights, which that graph lacks. record_operators.py has onnxruntime compute the files, and
tests/unit/model_operators_recorded_test.cpp holds convcast's reference to what it gave. Writing needs python3-onnx, checking nothing.
"""
import argparse
import hashlib
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
LAST = 2**63 - 1  # "to the end" of a slice
MADE = []


class Case:
    """A model while its nodes are added, in the order of the file. Nodes have names, each once, as exporters give them."""

    def __init__(self, name, sizes=(2, 3, 5, 6), opset=17, ir=8):
        self.name, self.sizes, self.opset, self.ir = name, sizes, opset, ir
        self.nodes, self.tensors, self.kinds = [], [], {}
        self.seed = int(hashlib.sha256(name.encode()).hexdigest()[:6], 16)  # a new case changes no other
        MADE.append(self)

    def add(self, kind, *inputs, outputs=1, left_out=0, **attributes):
        """A node; the name of its output, or a list of them. So many outputs behind them are left out."""
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        name = f"{kind.lower()}{self.kinds[kind]}"
        names = [f"{name}_{i}" for i in range(outputs)] if outputs > 1 else [f"{name}_out"]
        self.nodes.append((kind, list(inputs), names + [""] * left_out, name, attributes))
        return names if outputs > 1 else names[0]

    def tensor(self, values, sizes, kind="float"):
        self.tensors.append((f"{kind}{len(self.tensors)}", values, sizes, kind))
        return self.tensors[-1][0]

    def draw(self, sizes, least=-1.0, most=1.0):
        """64ths, so that few digits say them exactly."""
        values = []
        for _ in range(math.prod(sizes)):
            self.seed += 1
            steps = round((most - least) * 64)
            values.append(least + hashed(self.seed) % steps / 64)
        return values

    def weights(self, *sizes, least=-1.0, most=1.0):
        return self.tensor(self.draw(sizes, least, most), sizes)

    def scalar(self, value):
        return self.tensor([value], ())

    def integers(self, *values):
        return self.tensor(list(values), (len(values),), "int64")

    def floats(self, *values):
        return self.tensor(list(values), (len(values),))

    def conv(self, x, outputs, channels, window=(3, 3), bias=True, kind="Conv", **attributes):
        """Filters are outputs x channels of a group, or of ConvTranspose inputs x outputs of a group."""
        given = [self.weights(outputs, channels, *window)]
        if bias:
            given.append(self.weights(outputs if kind == "Conv" else channels * attributes.get("group", 1)))
        return self.add(kind, x, *given, **attributes)

    def transposed(self, x, inputs, outputs, window=(3, 3), bias=True, **attributes):
        return self.conv(x, inputs, outputs, window, bias, "ConvTranspose", **attributes)

    def norm(self, x, channels, **attributes):
        return self.add("BatchNormalization", x, self.weights(channels, least=0.5, most=2.0), self.weights(channels),
                        self.weights(channels), self.weights(channels, least=0.25, most=3.0), **attributes)

    def gives(self, *outputs):
        self.outputs = outputs


def case(name, output, *sizes, **file):
    """One whose nodes a single expression of it says."""
    made = Case(name, *sizes, **file)
    made.gives(output(made))


def hashed(index):
    """The integer hash that record_operators.py has too."""
    value = index * 2654435761 % 2**32
    value = (value ^ value >> 15) * 2246822519 % 2**32
    return value ^ value >> 13


def convolutions():
    def one(name, sizes=(2, 3, 5, 6), outputs=4, channels=3, window=(3, 3), bias=True, **attributes):
        case("conv_" + name, lambda c: c.conv("x", outputs, channels, window, bias, **attributes), sizes)
    one("padded", pads=[1, 1, 1, 1])
    one("valid_without_bias", bias=False)
    one("stride", pads=[1, 1, 1, 1], strides=[2, 1])
    one("stride_3_of_odd_map", sizes=(2, 3, 7, 8), window=(2, 2), strides=[3, 3])
    one("dilation", sizes=(2, 2, 7, 8), channels=2, dilations=[2, 3], pads=[1, 2, 1, 2])
    one("groups", sizes=(2, 6, 5, 4), outputs=4, channels=3, group=2, pads=[1, 1, 1, 1])
    one("depthwise", sizes=(2, 4, 5, 4), channels=1, group=4, pads=[1, 1, 1, 1])
    one("depthwise_two_filters_a_channel", sizes=(2, 3, 4, 5), outputs=6, channels=1, group=3, strides=[2, 2], pads=[1, 1, 1, 1])
    one("pad_unequal", pads=[0, 1, 2, 1])
    one("pad_unequal_same_outputs", strides=[2, 2], pads=[0, 0, 1, 1])
    one("pad_wider_than_window", sizes=(1, 2, 2, 3), channels=2, outputs=2, window=(2, 2), pads=[3, 2, 3, 2])
    one("same_upper", window=(4, 4), strides=[2, 2], auto_pad="SAME_UPPER")
    one("same_lower", window=(4, 4), strides=[2, 2], auto_pad="SAME_LOWER")
    one("same_upper_of_odd_map", sizes=(2, 3, 5, 7), strides=[2, 2], auto_pad="SAME_UPPER")
    one("auto_pad_valid", auto_pad="VALID", strides=[1, 2])
    one("1x1", window=(1, 1))
    one("1x1_stride", window=(1, 1), strides=[2, 2])
    one("1x5", window=(1, 5), pads=[0, 2, 0, 2])
    one("window_of_map", window=(5, 6))
    one("one_pixel", sizes=(2, 3, 1, 1), pads=[1, 1, 1, 1])
    one("one_channel_one_filter", sizes=(2, 1, 4, 4), outputs=1, channels=1, bias=False)
    one("kernel_shape_said", kernel_shape=[3, 3], dilations=[1, 1], group=1, pads=[1, 1, 1, 1], strides=[1, 1])

    case("conv_open_batch", lambda c: c.conv("x", 3, 2, pads=[1, 1, 1, 1]), ("batch", 2, 4, 4))
    case("conv_bias_left_out", lambda c: c.add("Conv", "x", c.weights(3, 2, 3, 3), ""), (2, 2, 4, 4))
    c = Case("conv_weights_of_constant_nodes", (2, 2, 4, 4))
    c.gives(c.add("Conv", "x", c.add("Constant", value=c.draw((3, 2, 3, 3)), value_sizes=(3, 2, 3, 3)),
                  c.add("Constant", value=c.draw((3,)), value_sizes=(3,))))
    c = Case("conv_weights_of_identity", (2, 2, 4, 4))
    w, b = c.add("Identity", c.weights(3, 2, 3, 3)), c.weights(3)
    c.gives(c.conv(c.add("Conv", "x", w, b), 2, 3, (1, 1)))
    case("conv_weights_are_inputs_too", lambda c: c.conv("x", 3, 2), (2, 2, 4, 4), opset=9, ir=3)
    c = Case("conv_filters_shared", (2, 2, 4, 4))
    w = c.weights(2, 2, 3, 3)
    c.gives(c.add("Conv", c.add("Relu", c.add("Conv", "x", w, pads=[1, 1, 1, 1])), w, pads=[1, 1, 1, 1]))
    c = Case("conv_of_rows_and_columns_turned", (2, 4, 5, 3))  # images, rows, columns, channels
    c.gives(c.conv(c.add("Transpose", "x", perm=[0, 3, 1, 2]), 4, 3, pads=[1, 1, 1, 1]))


def transposed_convolutions():
    def one(name, sizes=(2, 3, 3, 4), inputs=3, outputs=2, window=(3, 3), bias=True, **attributes):
        case("transposed_" + name, lambda c: c.transposed("x", inputs, outputs, window, bias, **attributes), sizes)
    one("plain")
    one("stride", strides=[2, 2], window=(2, 2), bias=False)
    one("stride_and_pad", strides=[2, 3], pads=[1, 1, 1, 1])
    one("output_padding", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    one("output_padding_of_columns", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[0, 1])
    one("pad_unequal", strides=[2, 2], pads=[0, 1, 1, 0])
    one("dilation", dilations=[2, 1], pads=[1, 0, 1, 0])
    one("groups", sizes=(2, 4, 3, 3), inputs=4, outputs=3, group=2, strides=[2, 2])
    one("depthwise", sizes=(2, 3, 3, 3), outputs=1, group=3, strides=[2, 2], window=(4, 4), pads=[1, 1, 1, 1])
    one("one_pixel", sizes=(2, 3, 1, 1), strides=[2, 2])
    one("output_padding_without_pad", strides=[2, 2], output_padding=[1, 1])
    one("output_padding_beyond_pad", strides=[3, 3], pads=[1, 1, 1, 1], output_padding=[2, 0])
    for side in ("upper", "lower"):
        pads = {"auto_pad": "SAME_" + side.upper()}
        one(f"same_{side}", strides=[2, 2], **pads)
        one(f"same_{side}_of_even_window", window=(4, 2), strides=[2, 2], **pads)
        one(f"same_{side}_of_small_window", window=(2, 3), strides=[3, 2], **pads)
        one(f"output_shape_same_{side}", strides=[2, 2], output_shape=[6, 8], **pads)
    one("output_shape", strides=[2, 2], output_shape=[5, 8])
    one("output_shape_larger", strides=[2, 2], output_shape=[8, 10])
    case("transposed_output_padding_norm", lambda c: c.norm(c.transposed("x", 3, 2, strides=[2, 2], output_padding=[1, 1]), 2), (2, 3, 3, 3))
    case("transposed_norm", lambda c: c.add("Relu", c.norm(c.transposed("x", 3, 2, (2, 2), False, strides=[2, 2]), 2)), (2, 3, 3, 3))
    case("transposed_groups_norm", lambda c: c.norm(c.transposed("x", 4, 3, (2, 2), True, group=2), 6), (2, 4, 3, 3))


def norms():
    case("norm_behind_conv", lambda c: c.add("Relu", c.norm(c.conv("x", 4, 3, bias=False), 4)))
    case("norm_behind_conv_with_bias", lambda c: c.norm(c.conv("x", 4, 3), 4, epsilon=0.125))
    case("norm_behind_conv_groups", lambda c: c.norm(c.conv("x", 6, 2, group=2), 6), (2, 4, 4, 4))
    case("norm_behind_conv_pad_unequal", lambda c: c.norm(c.conv("x", 4, 3, bias=False, pads=[0, 0, 1, 2]), 4))
    c = Case("norm_behind_conv_read_twice")
    y = c.conv("x", 4, 3)
    c.gives(c.add("Add", c.norm(y, 4), y))
    c = Case("norm_behind_conv_that_is_an_output")
    y = c.conv("x", 2, 3)
    c.gives(c.add("Relu", c.norm(y, 2)), y)
    case("norm_behind_conv_and_identity", lambda c: c.norm(c.add("Dropout", c.add("Identity", c.conv("x", 4, 3))), 4))
    case("norm_behind_conv_and_added_numbers", lambda c: c.norm(c.add("Add", c.conv("x", 4, 3, bias=False), c.weights(1, 4, 1, 1)), 4))
    c = Case("norm_behind_view_of_conv")
    y = c.norm(c.add("Reshape", c.conv("x", 4, 3), c.integers(0, 4, 12)), 4)
    c.gives(c.add("Relu", c.add("Reshape", y, c.integers(0, 4, 3, 4))))
    c = Case("norm_behind_view_of_conv_read_twice")
    y = c.conv("x", 4, 3)
    z = c.norm(c.add("Reshape", y, c.integers(0, 4, 12)), 4)
    c.gives(c.add("Add", c.add("Reshape", z, c.integers(0, 4, 3, 4)), y))
    c = Case("norm_behind_slice_of_conv_read_twice")
    y = c.conv("x", 4, 3, bias=False)
    z = c.norm(c.add("Slice", y, c.integers(0), c.integers(LAST), c.integers(2)), 4)
    c.gives(c.add("Add", z, y))
    c = Case("norm_behind_squeezed_conv_read_twice", (2, 3, 3, 3))
    y = c.conv("x", 4, 3)
    z = c.norm(c.add("Squeeze", y, c.integers(2, 3)), 4)
    c.gives(c.add("Add", c.add("Unsqueeze", z, c.integers(2, 3)), y))
    c = Case("norm_behind_added_numbers_read_twice")
    y = c.add("Add", c.conv("x", 4, 3, bias=False), c.weights(1, 4, 1, 1))
    z = c.norm(c.add("Reshape", y, c.integers(0, 4, 12)), 4)
    c.gives(c.add("Add", c.add("Reshape", z, c.integers(0, 4, 3, 4)), y))
    case("norm_twice_behind_conv", lambda c: c.norm(c.norm(c.conv("x", 4, 3, bias=False), 4), 4))
    case("norm_of_input", lambda c: c.norm("x", 3))
    case("norm_behind_relu", lambda c: c.conv(c.add("Relu", c.norm("x", 3)), 2, 3))
    case("norm_behind_dense", lambda c: c.norm(c.add("Gemm", c.add("Flatten", "x"), c.weights(5, 12), transB=1), 5), (2, 3, 2, 2))
    c = Case("norm_behind_dense_with_bias", (2, 3, 2, 2))
    c.gives(c.norm(c.add("Gemm", c.add("Flatten", "x"), c.weights(5, 12), c.weights(5), transB=1), 5))
    case("norm_of_one_pixel", lambda c: c.norm("x", 3, epsilon=1e-3), (2, 3, 1, 1))
    c = Case("norm_shared_by_two_convs", (2, 2, 4, 4))
    y = c.norm("x", 2)
    c.gives(c.add("Add", c.conv(y, 3, 2), c.conv(y, 3, 2)))

    def layer(name, bias=True, sizes=(2, 6, 2, 3), **attributes):
        c = Case("layer_norm_" + name, sizes)
        y = c.add("Transpose", "x", perm=[0, 2, 3, 1])
        y = c.add("LayerNormalization", y, c.weights(sizes[1]), *[c.weights(sizes[1])] * bias, **attributes)
        c.gives(c.add("Transpose", y, perm=[0, 3, 1, 2]))
    layer("of_channels", axis=-1)
    layer("without_bias", False)
    layer("axis_from_front", axis=3, epsilon=0.25)
    layer("of_one_channel", sizes=(2, 1, 2, 2))
    c = Case("layer_norm_of_numbers", (2, 6, 1, 1))
    c.gives(c.add("LayerNormalization", c.add("Flatten", "x"), c.weights(6), c.weights(6), epsilon=1e-6))
    c = Case("layer_norm_of_tokens", (2, 6, 2, 3))  # images, pixels, channels
    y = c.add("Transpose", c.add("Reshape", "x", c.integers(0, 6, -1)), perm=[0, 2, 1])
    c.gives(c.add("LayerNormalization", y, c.weights(6), c.weights(6)))


def products():
    def gemm(name, weights, bias=None, **attributes):
        c = Case("gemm_" + name, (2, 3, 2, 2))
        c.gives(c.add("Gemm", c.add("Flatten", "x"), c.weights(*weights), *([] if bias is None else [c.weights(*bias)]), **attributes))
    gemm("transposed_weights", (5, 12), (5,), transB=1)
    gemm("plain", (12, 5), (5,))
    gemm("without_bias", (12, 5))
    gemm("alpha_and_beta", (5, 12), (5,), transB=1, alpha=0.5, beta=-2.0)
    gemm("bias_of_rank_2", (12, 5), (1, 5))
    gemm("bias_of_one_number", (12, 5), ())
    gemm("one_output", (12, 1), (1,))
    c = Case("gemm_of_turned_image", (2, 3, 2, 4))
    c.gives(c.add("Gemm", c.add("Flatten", c.add("Transpose", "x", perm=[0, 2, 3, 1])), c.weights(24, 3), c.weights(3)))
    c = Case("gemm_behind_gemm", (2, 3, 1, 1))
    y = c.add("Relu", c.add("Gemm", c.add("Reshape", "x", c.integers(-1, 3)), c.weights(3, 6), c.weights(6)))
    c.gives(c.add("Gemm", y, c.weights(6, 2), c.weights(2)))
    case("matmul_of_numbers", lambda c: c.add("Add", c.add("MatMul", c.add("Flatten", "x"), c.weights(12, 5)), c.weights(5)), (2, 3, 2, 2))
    case("matmul_bias_first", lambda c: c.add("Add", c.weights(5), c.add("MatMul", c.add("Flatten", "x"), c.weights(12, 5))), (2, 3, 2, 2))
    c = Case("matmul_of_transposed_weights", (2, 3, 2, 2))
    c.gives(c.add("MatMul", c.add("Flatten", "x"), c.add("Transpose", c.weights(5, 12), perm=[1, 0])))
    case("matmul_of_weights_turned_by_default", lambda c: c.add("MatMul", c.add("Flatten", "x"), c.add("Transpose", c.weights(5, 12))), (2, 3, 2, 2))
    c = Case("matmul_of_reshaped_weights", (2, 3, 2, 2))
    c.gives(c.add("MatMul", c.add("Flatten", "x"), c.add("Reshape", c.weights(12, 5, 2), c.integers(0, -1))))
    c = Case("matmul_of_channels", (2, 3, 3, 4))
    y = c.add("Add", c.add("MatMul", c.add("Transpose", "x", perm=[0, 2, 3, 1]), c.weights(3, 5)), c.weights(5))
    c.gives(c.add("Transpose", y, perm=[0, 3, 1, 2]))
    c = Case("matmul_of_tokens", (2, 3, 3, 4))
    y = c.add("Transpose", c.add("Reshape", "x", c.integers(2, 3, 12)), perm=[0, 2, 1])
    c.gives(c.add("MatMul", y, c.weights(3, 4)))


def poolings():
    def one(kind, name, sizes=(2, 2, 5, 6), opset=17, **attributes):
        case(("max_pool_" if kind == "MaxPool" else "average_pool_") + name, lambda c: c.add(kind, "x", **attributes), sizes, opset)
    for kind in ("MaxPool", "AveragePool"):
        one(kind, "stride_left_out", kernel_shape=[2, 3])
        one(kind, "plain", kernel_shape=[2, 2], strides=[2, 2])
        one(kind, "padded", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        one(kind, "pad_unequal", kernel_shape=[3, 3], strides=[2, 2], pads=[0, 1, 2, 0])
        one(kind, "pad_at_end", kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1])
        one(kind, "ceil", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
        one(kind, "ceil_padded", sizes=(2, 2, 6, 7), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
        one(kind, "ceil_wide_stride", sizes=(2, 2, 7, 8), kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1)
        one(kind, "same_upper", kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_UPPER")
        one(kind, "same_lower", kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_LOWER")
        one(kind, "stride_wider_than_window", kernel_shape=[2, 1], strides=[3, 2])
        one(kind, "of_one_pixel", sizes=(2, 3, 1, 1), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        one(kind, "of_map", kernel_shape=[5, 6])
        one(kind, "opset_7", opset=7, kernel_shape=[3, 2], strides=[1, 2], pads=[1, 0, 1, 0])
    one("AveragePool", "pad_counts", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    one("AveragePool", "unequal_pad_counts", kernel_shape=[3, 3], pads=[1, 0, 0, 2], count_include_pad=1)
    one("AveragePool", "ceil_pad_counts", sizes=(2, 2, 5, 7), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
        count_include_pad=1, ceil_mode=1)
    hanging = {"opset": 19, "kernel_shape": [3, 2], "strides": [2, 2], "count_include_pad": 1, "ceil_mode": 1}
    one("AveragePool", "ceil_hangs_over_pad_that_counts", sizes=(2, 2, 6, 7), pads=[1, 0, 1, 0], **hanging)
    one("AveragePool", "ceil_hangs_over", sizes=(2, 2, 6, 5), **hanging)
    one("MaxPool", "indices_left_out", left_out=1, kernel_shape=[2, 2])
    one("AveragePool", "same_upper_pad_counts", kernel_shape=[3, 2], auto_pad="SAME_UPPER", count_include_pad=1)
    # What exporters make of adaptive pooling of 6 x 6 to 3 x 2.
    one("AveragePool", "adaptive", sizes=(2, 3, 6, 6), kernel_shape=[2, 3], strides=[2, 3])

    for kind in ("GlobalAveragePool", "GlobalMaxPool"):
        case("global_" + ("max" if "Max" in kind else "average"), lambda c: c.add(kind, "x"))
    case("global_average_of_one_pixel", lambda c: c.add("GlobalAveragePool", "x"), (2, 3, 1, 1))
    c = Case("global_average_to_numbers")
    c.gives(c.add("Gemm", c.add("Flatten", c.add("GlobalAveragePool", "x")), c.weights(4, 3), c.weights(4), transB=1))
    for name, opset, attributes in (("kept", 17, {"axes": [2, 3]}), ("taken_out", 17, {"axes": [-1, -2], "keepdims": 0}),
                                    ("opset_18", 18, {"keepdims": 1})):
        case("reduce_mean_" + name, lambda c: c.add("ReduceMean", "x", *([c.integers(-2, -1)] if opset > 17 else []), **attributes), opset=opset)
    case("reduce_max", lambda c: c.add("ReduceMax", "x", axes=[2, 3]))
    for name, order, axes in (("channels_last", [0, 2, 3, 1], [1, 2]), ("channels_between", [0, 2, 1, 3], [1, 3])):
        for keep in (0, 1):
            c = Case(f"reduce_mean_of_{name}" + "_kept" * keep, (2, 3, 4, 2))
            y = c.add("ReduceMean", c.add("Transpose", "x", perm=order), axes=axes, keepdims=keep)
            c.gives(c.add("Relu", y))
    c = Case("reduce_mean_of_rows_of_numbers", (2, 3, 4, 2))
    c.gives(c.add("ReduceMean", c.add("Reshape", "x", c.integers(0, 3, -1)), axes=[-1], keepdims=0))
    c = Case("reduce_mean_of_tokens", (2, 3, 4, 2))
    y = c.add("Transpose", c.add("Reshape", "x", c.integers(0, 3, -1)), perm=[0, 2, 1])
    c.gives(c.add("Gemm", c.add("ReduceMean", y, axes=[1], keepdims=0), c.weights(3, 4)))
    c = Case("reduce_mean_of_turned_image", (2, 3, 4, 2))
    c.gives(c.add("ReduceMean", c.add("Transpose", "x", perm=[0, 3, 1, 2]), axes=[2, 3], keepdims=0))


def functions():
    def one(name, kind, opset=17, inputs=(), sizes=(2, 3, 3, 4), **attributes):
        case(name, lambda c: c.add(kind, "x", *(c.scalar(i) if i != "" else "" for i in inputs), **attributes), sizes, opset)
    one("relu", "Relu")
    one("leaky_relu", "LeakyRelu")
    one("leaky_relu_alpha", "LeakyRelu", alpha=0.25)
    one("leaky_relu_negative_alpha", "LeakyRelu", alpha=-0.5)
    one("clip", "Clip", inputs=(-0.75, 2.5))
    one("clip_low", "Clip", inputs=(0.5,))
    one("clip_high", "Clip", inputs=("", 1.25))
    one("clip_without_bounds", "Clip")
    one("clip_opset_7", "Clip", 7, min=-1.0, max=3.0)
    one("clip_opset_7_low", "Clip", 7, min=0.0)
    one("sigmoid", "Sigmoid")
    one("hard_sigmoid", "HardSigmoid")
    one("hard_sigmoid_of_a_sixth", "HardSigmoid", alpha=1.0 / 6.0, beta=0.5)
    one("hard_swish", "HardSwish")
    one("tanh", "Tanh")
    one("erf", "Erf")
    one("gelu", "Gelu", 20)
    one("relu_of_one_number", "Relu", sizes=(2, 1, 1, 1))

    case("relu6_behind_conv", lambda c: c.add("Clip", c.conv("x", 3, 3), c.scalar(0.0), c.scalar(6.0)))
    case("clip_of_constant_nodes", lambda c: c.add("Clip", "x", c.add("Constant", value_float=-1.0), c.add("Constant", value=[2.0], value_sizes=())))
    case("silu", lambda c: c.add("Mul", "x", c.add("Sigmoid", "x")))
    c = Case("silu_gate_first")
    y = c.conv("x", 2, 3)
    c.gives(c.add("Mul", c.add("Sigmoid", y), y))
    case("sigmoid_of_another_tensor", lambda c: c.add("Mul", c.add("Sigmoid", c.conv("x", 3, 3, (1, 1))), "x"))
    c = Case("silu_whose_gate_is_an_output")
    gate = c.add("Sigmoid", "x")
    c.gives(c.add("Mul", "x", gate), gate)
    c = Case("silu_of_channels_last", (2, 3, 2, 4))
    y = c.add("Transpose", "x", perm=[0, 2, 3, 1])
    c.gives(c.add("Mul", y, c.add("Sigmoid", y)))
    case("hard_swish_by_hard_sigmoid", lambda c: c.add("Mul", "x", c.add("HardSigmoid", "x", alpha=1.0 / 6.0, beta=0.5)))
    case("product_with_another_hard_sigmoid", lambda c: c.add("Mul", "x", c.add("HardSigmoid", "x")))
    c = Case("hard_swish_written_out")
    gate = c.add("Clip", c.add("Add", "x", c.scalar(3.0)), c.scalar(0.0), c.scalar(6.0))
    c.gives(c.add("Div", c.add("Mul", "x", gate), c.scalar(6.0)))

    def gate_of(c, x, divide=True):
        root = c.add("Div", x, c.scalar(math.sqrt(2.0))) if divide else c.add("Mul", x, c.scalar(math.sqrt(0.5)))
        return c.add("Add", c.add("Erf", root), c.scalar(1.0))
    case("gelu_written_out", lambda c: c.add("Mul", c.add("Mul", "x", gate_of(c, "x")), c.scalar(0.5)))
    case("gelu_half_first", lambda c: c.add("Mul", c.add("Mul", c.scalar(0.5), "x"), gate_of(c, "x", False)))
    case("gelu_of_half_gate", lambda c: c.add("Mul", "x", c.add("Mul", gate_of(c, "x"), c.scalar(0.5))))
    case("gelu_twice_as_large", lambda c: c.add("Mul", gate_of(c, "x"), "x"))
    c = Case("gelu_almost")  # of another root: no GELU
    gate = c.add("Add", c.add("Erf", c.add("Mul", "x", c.scalar(0.75))), c.scalar(1.0))
    c.gives(c.add("Mul", c.add("Mul", "x", gate), c.scalar(0.5)))

    for name, opset, attributes in (("axis_1", 17, {"axis": 1}), ("axis_from_end", 17, {}), ("opset_11", 11, {})):
        case("softmax_" + name, lambda c: c.add("Softmax", c.add("Flatten", "x"), **attributes), (2, 3, 1, 4), opset)
    for name, sizes, opset, attributes in (("one_pixel", (2, 5, 1, 1), 17, {"axis": 1}), ("one_row", (2, 1, 1, 5), 17, {}),
                                           ("one_pixel_opset_11", (2, 5, 1, 1), 11, {}), ("maps_opset_11", (2, 2, 2, 3), 11, {}),
                                           ("one_channel_opset_11", (2, 1, 2, 3), 11, {"axis": -2})):
        case("softmax_of_" + name, lambda c: c.add("Softmax", "x", **attributes), sizes, opset)
    one("max_with_number", "Max", inputs=(-0.5,))
    one("min_with_number", "Min", inputs=(1.5,))
    case("max_with_numbers", lambda c: c.add("Max", c.scalar(-2.0), "x", c.floats(-0.25)))
    case("max_of_one", lambda c: c.add("Relu", c.add("Max", "x")), opset=13)
    case("softmax_of_large_numbers", lambda c: c.add("Softmax", c.add("Flatten", c.add("Mul", "x", c.scalar(64.0))), axis=-1), (2, 3, 1, 2))
    case("softmax_of_one_number", lambda c: c.add("Softmax", c.add("Flatten", "x"), axis=1), (2, 1, 1, 1))


def of_two():
    case("add_residual", lambda c: c.add("Relu", c.add("Add", c.conv("x", 3, 3, pads=[1, 1, 1, 1]), "x")))
    case("add_to_itself", lambda c: c.add("Add", "x", "x"))
    case("square", lambda c: c.add("Mul", "x", "x"))
    case("sub_of_tensors", lambda c: c.add("Sub", "x", c.conv("x", 3, 3, (1, 1))))
    case("sub_of_itself_and_more", lambda c: c.add("Sub", c.add("Relu", "x"), "x"))
    for kind in ("Mul", "Add", "Sub"):
        for first in (False, True):
            c = Case(f"{kind.lower()}_{'number_a_channel_first' if first else 'number_a_channel'}")
            gate = c.add("Sigmoid", c.conv(c.add("GlobalAveragePool", "x"), 3, 3, (1, 1)))
            c.gives(c.add(kind, *((gate, "x") if first else ("x", gate))))
    case("mul_number_a_pixel", lambda c: c.add("Mul", "x", c.add("Sigmoid", c.conv("x", 1, 3, (1, 1)))))
    case("add_number_a_column", lambda c: c.add("Add", c.add("MaxPool", "x", kernel_shape=[5, 1]), "x"))
    case("mul_number_an_image", lambda c: c.add("Mul", "x", c.conv("x", 1, 3, (5, 6))))
    case("add_of_turned_and_plain", lambda c: c.add("Add", c.add("Transpose", "x", perm=[0, 1, 3, 2]), "x"), (2, 3, 4, 4))
    c = Case("add_of_numbers", (2, 3, 2, 2))
    y = c.add("Flatten", "x")
    c.gives(c.add("Add", c.add("Gemm", y, c.weights(12, 12)), y))
    c = Case("add_of_rows", (2, 3, 2, 4))
    y = c.add("Reshape", c.conv("x", 4, 3, (1, 1)), c.integers(0, 4, -1))
    y = c.add("Slice", y, c.integers(0), c.integers(3), c.integers(1))
    c.gives(c.add("Add", c.add("Reshape", "x", c.integers(0, 3, -1)), y))
    c = Case("mul_of_tokens", (2, 3, 2, 4))
    y = c.add("Reshape", "x", c.integers(0, 3, 8))
    c.gives(c.add("Mul", y, c.add("Tanh", y)))

    for kind in ("Add", "Sub", "Mul", "Div"):
        case(f"{kind.lower()}_scalar", lambda c: c.add(kind, "x", c.scalar(2.5)))
        case(f"{kind.lower()}_constant_a_channel", lambda c: c.add(kind, "x", c.weights(3, 1, 1, least=0.5, most=2.0)))
        c = Case(f"{kind.lower()}_constant_a_channel_of_rank_4")
        c.gives(c.add(kind, c.conv("x", 4, 3, bias=False), c.weights(1, 4, 1, 1, least=-2.0, most=-0.5)))
    case("sub_from_scalar", lambda c: c.add("Sub", c.scalar(1.0), "x"))
    case("sub_from_constant_a_channel", lambda c: c.add("Sub", c.weights(3, 1, 1), "x"))
    for kind in ("Add", "Sub", "Mul", "Div"):
        c = Case(f"{kind.lower()}_constant_a_number_of_image", (2, 2, 2, 3))
        c.gives(c.add(kind, "x", c.weights(*(1, 2, 2, 3)[kind == "Mul":], least=0.5, most=2.0)))
    case("sub_from_constant_a_number_of_image", lambda c: c.conv(c.add("Sub", c.weights(1, 2, 2, 3), "x"), 2, 2, (2, 2)), (2, 2, 2, 3))
    c = Case("add_constant_a_number_of_turned_image", (2, 2, 2, 3))
    c.gives(c.add("Relu", c.add("Add", c.add("Transpose", "x", perm=[0, 2, 3, 1]), c.weights(1, 2, 3, 2))))
    c = Case("add_constant_a_number_of_tokens", (2, 3, 2, 2))  # places, as transformers have them
    y = c.conv("x", 4, 3, (1, 1))
    y = c.add("Transpose", c.add("Reshape", y, c.integers(0, 4, -1)), perm=[0, 2, 1])
    c.gives(c.add("MatMul", c.add("Add", y, c.weights(1, 4, 4)), c.weights(4, 2)))
    case("sum", lambda c: c.add("Relu", c.add("Sum", "x", c.conv("x", 3, 3, (1, 1)), c.add("Tanh", "x"))))
    case("sum_with_number_a_channel", lambda c: c.add("Sum", c.add("GlobalAveragePool", "x"), "x"))
    case("sum_of_one", lambda c: c.add("Relu", c.add("Sum", "x")))
    case("add_list_of_one_number", lambda c: c.add("Add", c.floats(-1.5), "x"))
    case("mul_scalars", lambda c: c.add("Mul", c.add("Div", c.add("Mul", "x", c.scalar(3.0)), c.scalar(4.0)), c.scalar(-0.5)))
    case("mul_scalars_that_make_one", lambda c: c.add("Relu", c.add("Mul", c.add("Mul", "x", c.scalar(4.0)), c.scalar(0.25))))
    c = Case("mul_and_add_scalars")  # as images are normalised
    c.gives(c.conv(c.add("Div", c.add("Sub", c.add("Mul", "x", c.scalar(0.25)), c.scalar(0.5)), c.scalar(0.225)), 2, 3))
    c = Case("mul_scalar_read_twice")
    y = c.add("Mul", "x", c.scalar(3.0))
    c.gives(c.add("Add", c.add("Mul", y, c.scalar(0.5)), y))
    case("mul_constant_a_number", lambda c: c.add("Add", c.add("Mul", c.add("Flatten", "x"), c.weights(5)), c.weights(1, 5)), (2, 5, 1, 1))
    c = Case("mul_constant_of_channels_last", (2, 3, 2, 3))
    y = c.add("Mul", c.add("Transpose", "x", perm=[0, 2, 3, 1]), c.weights(3))
    c.gives(c.add("Transpose", y, perm=[0, 3, 1, 2]))
    case("add_constant_to_one_channel", lambda c: c.add("Add", "x", c.weights(1, 1, 1, 1)), (2, 1, 3, 4))


def moves():
    case("concat", lambda c: c.add("Concat", c.conv("x", 2, 3, (1, 1)), "x", c.add("Relu", "x"), axis=1))
    case("concat_axis_from_end", lambda c: c.conv(c.add("Concat", "x", c.add("Tanh", "x"), axis=-3), 2, 6))
    case("concat_twice_the_same", lambda c: c.add("Concat", "x", "x", axis=1))
    case("concat_of_one", lambda c: c.add("Relu", c.add("Concat", "x", axis=1)))
    c = Case("concat_of_channels_last", (2, 3, 2, 4))
    y = c.add("Transpose", "x", perm=[0, 2, 3, 1])
    c.gives(c.add("Concat", y, c.add("Relu", y), axis=3))
    c = Case("concat_of_numbers", (2, 3, 2, 2))
    c.gives(c.add("Concat", c.add("Flatten", "x"), c.add("Flatten", c.add("GlobalAveragePool", "x")), axis=1))
    case("concat_of_turned_and_plain", lambda c: c.add("Concat", c.add("Transpose", "x", perm=[0, 1, 3, 2]), "x", axis=1), (2, 3, 4, 4))
    c = Case("concat_of_rows", (2, 3, 2, 4))
    y = c.add("Reshape", "x", c.integers(0, 3, -1))
    c.gives(c.add("Concat", y, c.add("Slice", y, c.integers(1), c.integers(3), c.integers(1)), axis=1))
    c = Case("concat_of_boxes", (2, 3, 2, 2))  # as detectors do, of maps of two sizes
    y = c.conv("x", 4, 3, (1, 1))
    z = c.conv("x", 4, 3, (2, 2))
    c.gives(c.add("Concat", c.add("Reshape", c.add("Reshape", y, c.integers(0, 4, -1)), c.integers(0, 16)),
                  c.add("Reshape", z, c.integers(0, 4)), axis=1))

    def split(name, outputs, opset=17, sizes=None, inputs=(), read=None, **attributes):
        c = Case("split_" + name, sizes or (2, 6, 3, 4), opset)
        parts = c.add("Split", "x", *(c.integers(*i) for i in inputs), outputs=outputs, **attributes)
        c.gives(*(c.add("Relu", parts[i]) for i in (read or range(outputs))))
    split("equal", 3, axis=1)
    split("sizes", 3, inputs=[(1, 3, 2)], axis=1)
    split("opset_11", 2, 11, axis=1, split=[2, 4])
    split("opset_18_uneven", 4, 18, sizes=(2, 7, 2, 3), axis=1, num_outputs=4)
    split("of_rows", 2, inputs=[(1, 2)], axis=2)
    split("of_columns", 2, axis=-1)
    split("one_part_read", 3, read=[1], axis=1)

    def cut(name, starts, ends, axes=None, steps=None, sizes=(2, 6, 5, 4), opset=17):
        c = Case("slice_" + name, sizes, opset)
        if opset < 10:
            c.gives(c.add("Relu", c.add("Slice", "x", starts=starts, ends=ends, **({"axes": axes} if axes else {}))))
        else:
            c.gives(c.add("Relu", c.add("Slice", "x", *(c.integers(*i) for i in (starts, ends, axes, steps) if i))))
    cut("channels", [1], [4], [1])
    cut("channels_by_step", [1], [6], [1], [2])
    cut("rows_to_the_end", [2], [LAST], [2], [1])
    cut("from_the_end", [-3], [-1], [2])
    cut("several_axes", [1, 0], [4, 3], [-2, -1], [1, 2])
    cut("beyond_the_end", [3], [100], [1])
    cut("of_all", [0], [LAST], [1])
    cut("opset_9", [1, 2], [5, 4], [2, 3], opset=9)
    cut("without_axes", [0, 1, 0, -3], [2, LAST, -1, 4])
    cut("without_axes_opset_9", [0, 2], [LAST, 5], opset=9)
    cut("of_all_images", [0, 1], [LAST, 3], [0, 3])
    cut("of_all_images_of_open_batch", [0, 1], [2**31 - 1, 3], [-4, 1], sizes=("batch", 4, 2, 2))
    c = Case("slice_of_numbers", (2, 3, 2, 2))
    c.gives(c.add("Slice", c.add("Flatten", "x"), c.integers(2), c.integers(11), c.integers(1), c.integers(3)))
    c = Case("slice_of_turned_image", (2, 3, 4, 5))
    c.gives(c.add("Slice", c.add("Transpose", "x", perm=[0, 2, 3, 1]), c.integers(1), c.integers(3), c.integers(2)))
    c = Case("focus", (2, 2, 4, 6))  # the first layer of YOLOv5
    parts = []
    for row, column in ((0, 0), (1, 0), (0, 1), (1, 1)):
        y = c.add("Slice", "x", c.integers(row), c.integers(LAST), c.integers(2), c.integers(2))
        parts.append(c.add("Slice", y, c.integers(column), c.integers(LAST), c.integers(3), c.integers(2)))
    c.gives(c.add("Concat", *parts, axis=1))

    def pad(name, pads, value=None, opset=17, sizes=(2, 2, 3, 4), axes=None, **attributes):
        c = Case("pad_" + name, sizes, opset)
        given = () if opset < 11 else (c.integers(*pads),) + (() if value is None else (c.scalar(value),))
        if axes:
            given += ("",) * (2 - len(given)) + (c.integers(*axes),)
        c.gives(c.add("Pad", "x", *given, **({"pads": pads, "value": value or 0.0} if opset < 11 else {}), **attributes))
    pad("zeros", [0, 0, 1, 2, 0, 0, 1, 2])
    pad("unequal", [0, 0, 0, 2, 0, 0, 1, 0], mode="constant")
    pad("value", [0, 0, 1, 1, 0, 0, 1, 1], -1.5)
    pad("opset_2", [0, 0, 2, 0, 0, 0, 0, 1], 0.5, 9)
    pad("one_pixel", [0, 0, 1, 1, 0, 0, 1, 1], sizes=(2, 3, 1, 1))
    pad("axes", [1, 2, 0, 1], opset=18, axes=[2, 3])
    pad("axes_turned", [2, 0, 1, 1], 0.25, opset=18, axes=[-1, 2])
    pad("one_axis", [1, 2], opset=18, axes=[3])
    c = Case("pad_axes_then_shape", (2, 2, 3, 4), 18)  # where libonnx 1.12 crashes
    y = c.add("Pad", "x", c.integers(0, 1, 0, 1), "", c.integers(2, 3))
    sizes = c.add("Concat", c.add("Slice", c.add("Shape", y), c.integers(0), c.integers(2)), c.integers(-1), axis=0)
    c.gives(c.add("Relu", c.add("Reshape", y, sizes)))
    case("pad_nothing", lambda c: c.add("Relu", c.add("Pad", "x", c.integers(*[0] * 8))), (2, 2, 3, 4))
    c = Case("pad_before_max_pool", (2, 2, 5, 5))
    y = c.add("Pad", "x", c.integers(0, 0, 0, 0, 0, 0, 1, 1), c.scalar(-1e9))
    c.gives(c.add("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2]))


def resizes():
    def one(name, rows, columns, scales=False, sizes=(2, 2, 3, 4), opset=17, **attributes):
        c = Case("resize_" + name, sizes, opset)
        if scales:
            given = ("", c.floats(1.0, 1.0, rows / sizes[2], columns / sizes[3]))
        else:
            given = ("", "", c.integers(sizes[0], sizes[1], rows, columns))
        c.gives(c.add("Resize", "x", *given, **attributes))
    floors = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    one("nearest_scales", 6, 8, True, **floors)
    one("nearest_sizes", 6, 12, **floors)
    one("nearest_uneven", 7, 6, **floors)
    one("nearest_uneven_more", 10, 11, sizes=(1, 1, 6, 7), **floors)
    one("nearest_smaller", 2, 3, sizes=(2, 2, 6, 7), **floors)
    one("nearest_by_default", 6, 8)
    one("nearest_of_middles", 9, 12, True, mode="nearest", nearest_mode="round_prefer_ceil")
    one("nearest_of_one_pixel", 3, 2, sizes=(2, 3, 1, 1), **floors)
    one("nearest_rows_only", 6, 4, True, **floors)
    linear = {"mode": "linear"}
    for mode in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        linear["coordinate_transformation_mode"] = mode
        one(f"linear_{mode}", 6, 8, True, **linear)
        one(f"linear_{mode}_uneven", 7, 5, **linear)
        one(f"linear_{mode}_smaller", 2, 3, sizes=(2, 2, 5, 7), **linear)
        one(f"linear_{mode}_of_one_pixel", 3, 2, sizes=(2, 3, 1, 1), **linear)
    one("linear_align_corners_to_one_row", 1, 4, **linear)
    one("linear_half_pixel_to_one_pixel", 1, 1, mode="linear")
    linear["coordinate_transformation_mode"] = "asymmetric"
    one("linear_asymmetric", 6, 8, True, **linear)
    one("linear_asymmetric_uneven", 7, 5, **linear)
    one("linear_asymmetric_smaller", 2, 3, sizes=(2, 2, 5, 7), **linear)

    def by_half(name, sizes, opset=17, **attributes):
        case("resize_half_as_large_again_" + name, lambda c: c.add("Resize", "x", "", c.floats(1.0, 1.0, 1.5, 1.5), **attributes), sizes, opset)
    by_half("linear", (2, 2, 4, 6), mode="linear")
    by_half("corners_of_odd_map", (2, 2, 3, 5), mode="linear", coordinate_transformation_mode="align_corners")
    by_half("nearest_of_odd_map", (2, 2, 3, 5), **floors)
    case("resize_axes", lambda c: c.add("Resize", "x", "", "", c.integers(8, 6), mode="linear", axes=[3, 2]), (2, 2, 3, 4), 18)
    for name, mode, rows, columns in (("nearest", "nearest", 2.0, 3.0), ("linear", "linear", 2.0, 1.5),
                                      ("linear_smaller", "linear", 0.5, 0.5)):
        case(f"resize_opset_10_{name}", lambda c: c.add("Resize", "x", c.floats(1.0, 1.0, rows, columns), mode=mode), (2, 2, 4, 6), 10)
    case("upsample_linear", lambda c: c.add("Upsample", "x", c.floats(1.0, 1.0, 2.0, 3.0), mode="linear"), (2, 2, 3, 2), 9)
    case("resize_to_its_own_size", lambda c: c.add("Relu", c.add("Resize", "x", "", "", c.integers(2, 2, 3, 4), mode="linear")), (2, 2, 3, 4))
    case("upsample_opset_9", lambda c: c.add("Upsample", "x", c.floats(1.0, 1.0, 2.0, 3.0), mode="nearest"), (2, 2, 3, 2), 9)
    case("upsample_opset_7", lambda c: c.add("Upsample", "x", scales=[1.0, 1.0, 2.0, 2.0]), (2, 2, 3, 2), 7)
    c = Case("resize_to_size_of_another")  # as segmentation networks end
    y = c.conv("x", 2, 3, strides=[2, 2], pads=[1, 1, 1, 1])
    rows = c.add("Slice", c.add("Shape", "x"), c.integers(2), c.integers(4), c.integers(0))
    size = c.add("Concat", c.add("Slice", c.add("Shape", y), c.integers(0), c.integers(2), c.integers(0)), rows, axis=0)
    c.gives(c.add("Resize", y, "", "", size, mode="linear", coordinate_transformation_mode="half_pixel"))


def views():
    c = Case("channel_shuffle", (2, 6, 2, 3))
    y = c.add("Transpose", c.add("Reshape", "x", c.integers(2, 2, 3, 2, 3)), perm=[0, 2, 1, 3, 4])
    c.gives(c.conv(c.add("Reshape", y, c.integers(2, -1, 2, 3)), 4, 3, (1, 1), group=2))
    c = Case("pixel_shuffle", (2, 8, 2, 3))
    y = c.add("Transpose", c.add("Reshape", "x", c.integers(0, 2, 2, 2, 2, 3)), perm=[0, 1, 4, 2, 5, 3])
    c.gives(c.add("Reshape", y, c.integers(0, 2, 4, 6)))
    c = Case("space_to_depth", (2, 2, 4, 6))
    y = c.add("Transpose", c.add("Reshape", "x", c.integers(-1, 2, 2, 2, 3, 2)), perm=[0, 1, 3, 5, 2, 4])
    c.gives(c.conv(c.add("Reshape", y, c.integers(2, 8, 2, 3)), 2, 8, (1, 1)))
    case("transpose_to_channels_last", lambda c: c.add("Transpose", "x", perm=[0, 2, 3, 1]))
    case("transpose_rows_and_columns", lambda c: c.conv(c.add("Transpose", "x", perm=[0, 1, 3, 2]), 2, 3))
    c = Case("transpose_there_and_back")
    y = c.add("Relu", c.add("Transpose", "x", perm=[0, 3, 1, 2]))
    c.gives(c.conv(c.add("Transpose", y, perm=[0, 2, 3, 1]), 2, 3))
    case("reshape_before_conv", lambda c: c.conv(c.add("Reshape", "x", c.integers(0, 2, 4, 3)), 2, 2, (2, 2)), (2, 4, 3, 2))
    c = Case("reshape_to_tokens_and_back")
    y = c.add("Relu", c.add("Transpose", c.add("Reshape", "x", c.integers(2, 3, -1)), perm=[0, 2, 1]))
    c.gives(c.conv(c.add("Reshape", c.add("Transpose", y, perm=[0, 2, 1]), c.integers(2, 3, 5, 6)), 2, 3))
    c = Case("reshape_by_computed_sizes", ("batch", 3, 2, 2))
    images = c.add("Gather", c.add("Shape", "x"), c.tensor([0], (), "int64"), axis=0)
    sizes = c.add("Concat", c.add("Unsqueeze", images, c.integers(0)), c.integers(-1), axis=0)
    c.gives(c.add("Gemm", c.add("Reshape", "x", sizes), c.weights(12, 3)))
    c = Case("reshape_of_turned_image", (2, 3, 2, 4))
    y = c.add("Transpose", "x", perm=[0, 2, 3, 1])
    c.gives(c.add("Relu", c.add("Reshape", y, c.integers(2, 6, 4))))
    case("flatten", lambda c: c.add("Tanh", c.add("Flatten", "x", axis=1)))
    case("flatten_axis_from_end", lambda c: c.add("Tanh", c.add("Flatten", "x", axis=-3)))
    case("squeeze_without_axes", lambda c: c.add("Relu", c.add("Squeeze", c.add("GlobalAveragePool", "x"))))
    case("squeeze_without_axes_of_one_image", lambda c: c.add("Relu", c.add("Squeeze", c.add("GlobalAveragePool", "x"))), (1, 3, 5, 6), 11)
    c = Case("reshape_by_computed_sizes_of_two_images", (2, 3, 2, 2))
    images = c.add("Gather", c.add("Shape", "x"), c.tensor([0], (), "int64"), axis=0)
    sizes = c.add("Concat", c.add("Unsqueeze", images, c.integers(0)), c.integers(-1), axis=0)
    c.gives(c.add("Gemm", c.add("Reshape", "x", sizes), c.weights(12, 3)))
    case("flatten_of_one_pixel", lambda c: c.add("Relu", c.add("Flatten", "x")), (2, 3, 1, 1))
    case("squeeze", lambda c: c.add("Relu", c.add("Squeeze", c.add("GlobalAveragePool", "x"), c.integers(2, 3))), (2, 3, 5, 6))
    case("squeeze_opset_11", lambda c: c.add("Relu", c.add("Squeeze", c.add("GlobalAveragePool", "x"), axes=[-1])), (2, 3, 5, 6), 11)
    c = Case("unsqueeze", (2, 4, 1, 1))
    y = c.add("Gemm", c.add("Flatten", "x"), c.weights(4, 3), c.weights(3))
    c.gives(c.conv(c.add("Unsqueeze", y, c.integers(2, 3)), 2, 3, (1, 1)))
    c = Case("unsqueeze_opset_11", (2, 4, 1, 1), 11)
    y = c.add("Gemm", c.add("Flatten", "x"), c.weights(4, 3), c.weights(3))
    c.gives(c.conv(c.add("Unsqueeze", y, axes=[-1, -2]), 2, 3, (1, 1)))
    case("identity_dropout_cast", lambda c: c.add("Identity", c.add("Relu", c.add("Cast", c.add("Dropout", c.add("Identity", "x")), to=1))))
    case("dropout_opset_7", lambda c: c.add("Relu", c.add("Dropout", "x", ratio=0.5)), opset=7)


def networks():
    c = Case("two_outputs", (2, 3, 4, 4))
    y = c.add("Relu", c.conv("x", 4, 3, pads=[1, 1, 1, 1]))
    c.gives(c.add("GlobalAveragePool", y), y)
    c = Case("outputs_under_other_sizes", (2, 3, 2, 2))
    y = c.add("Relu", "x")
    c.gives(c.add("Flatten", y), c.add("Transpose", y, perm=[0, 2, 3, 1]))

    c = Case("residual_block", (2, 4, 5, 5))
    y = c.add("Relu", c.norm(c.conv("x", 4, 4, bias=False, pads=[1, 1, 1, 1], strides=[2, 2]), 4))
    y = c.norm(c.conv(y, 4, 4, bias=False, pads=[1, 1, 1, 1]), 4)
    c.gives(c.add("Relu", c.add("Add", y, c.norm(c.conv("x", 4, 4, (1, 1), False, strides=[2, 2]), 4))))

    c = Case("inverted_residual_with_gate", (2, 3, 4, 4))
    y = c.add("HardSwish", c.norm(c.conv("x", 6, 3, (1, 1), False), 6))
    y = c.add("HardSwish", c.norm(c.conv(y, 6, 1, bias=False, group=6, pads=[1, 1, 1, 1]), 6))
    gate = c.add("Relu", c.conv(c.add("GlobalAveragePool", y), 2, 6, (1, 1)))
    y = c.add("Mul", c.add("HardSigmoid", c.conv(gate, 6, 2, (1, 1)), alpha=1.0 / 6.0), y)
    c.gives(c.add("Add", "x", c.norm(c.conv(y, 3, 6, (1, 1), False), 3)))

    c = Case("convnext_block", (2, 4, 3, 3))
    y = c.conv("x", 4, 1, group=4, pads=[1, 1, 1, 1])
    y = c.add("LayerNormalization", c.add("Transpose", y, perm=[0, 2, 3, 1]), c.weights(4), c.weights(4), epsilon=1e-6)
    y = c.add("Add", c.add("MatMul", y, c.weights(4, 8)), c.weights(8))
    erf = c.add("Erf", c.add("Div", y, c.scalar(math.sqrt(2.0))))
    y = c.add("Mul", c.add("Mul", y, c.add("Add", erf, c.scalar(1.0))), c.scalar(0.5))
    y = c.add("Mul", c.add("Add", c.add("MatMul", y, c.weights(8, 4)), c.weights(4)), c.weights(4))
    c.gives(c.add("Add", "x", c.add("Transpose", y, perm=[0, 3, 1, 2])))

    c = Case("shuffle_unit", (2, 4, 4, 4))
    kept, y = c.add("Split", "x", axis=1, outputs=2)
    y = c.add("Relu", c.norm(c.conv(y, 2, 2, (1, 1), False), 2))
    y = c.norm(c.conv(y, 2, 1, bias=False, group=2, pads=[1, 1, 1, 1]), 2)
    y = c.add("Concat", kept, c.add("Relu", c.conv(y, 2, 2, (1, 1))), axis=1)
    y = c.add("Transpose", c.add("Reshape", y, c.integers(0, 2, 2, 4, 4)), perm=[0, 2, 1, 3, 4])
    c.gives(c.conv(c.add("Reshape", y, c.integers(0, 4, 4, 4)), 2, 4, (1, 1)))

    c = Case("dense_block", (2, 2, 4, 4))
    y = c.conv(c.add("Relu", c.norm("x", 2)), 2, 2, bias=False, pads=[1, 1, 1, 1])
    y = c.add("Concat", "x", y, axis=1)
    y = c.conv(c.add("Relu", c.norm(y, 4)), 3, 4, (1, 1), False)
    c.gives(c.add("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2]))

    c = Case("classifier", ("batch", 3, 8, 8))
    y = c.add("MaxPool", c.add("Relu", c.conv("x", 4, 3, strides=[2, 2], pads=[1, 1, 1, 1])), kernel_shape=[3, 3], strides=[2, 2],
              pads=[1, 1, 1, 1])
    y = c.add("Gemm", c.add("Flatten", c.add("GlobalAveragePool", y)), c.weights(5, 4), c.weights(5), transB=1)
    c.gives(c.add("Softmax", y, axis=1))


def model_of(case):
    from onnx import TensorProto, helper
    kinds = {"float": TensorProto.FLOAT, "int64": TensorProto.INT64}

    def node_of(kind, inputs, outputs, name, attributes):
        attributes = dict(attributes)
        if "value_sizes" in attributes:
            sizes = attributes.pop("value_sizes")
            attributes["value"] = helper.make_tensor(name, TensorProto.FLOAT, sizes, attributes["value"])
        return helper.make_node(kind, inputs, outputs, name, **attributes)

    tensors = [helper.make_tensor(name, kinds[kind], sizes, values) for name, values, sizes, kind in case.tensors]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, case.sizes)]
    if case.ir < 4:  # then a file names its weights among its inputs
        inputs += [helper.make_tensor_value_info(name, kinds[kind], sizes) for name, _, sizes, kind in case.tensors]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in case.outputs]
    graph = helper.make_graph([node_of(*node) for node in case.nodes], case.name, inputs, outputs, tensors)
    return helper.make_model(graph, ir_version=case.ir, opset_imports=[helper.make_opsetid("", case.opset)],
                             producer_name="make_operators.py")


def weights_of(model):
    """The numbers of all tensors of floats, by their names."""
    from onnx import TensorProto, numpy_helper
    found = {each.name: each for each in model.graph.initializer}
    found |= {node.output[0]: value.t for node in model.graph.node if node.op_type == "Constant"
              for value in node.attribute if value.name == "value"}
    return {name: [int(v) if v == int(v) else v for v in numpy_helper.to_array(tensor).astype(float).ravel().tolist()]
            for name, tensor in found.items() if tensor.data_type == TensorProto.FLOAT}


def graph_of(reader, path):
    done = subprocess.run([reader], input=path.read_bytes(), capture_output=True, check=True)
    return json.loads(done.stdout)


def said_by_file(graph):
    """Without the sizes that are inferred, of which other versions of the ONNX library say more or fewer."""
    return {key: [each for each in value if key != "tensors" or each["constant"]] if isinstance(value, list) else value
            for key, value in graph.items() if key != "remarks"}


def check(reader):
    wrong = []
    cases = json.loads((HERE / "cases.json").read_text())["cases"]
    if sorted(case["name"] for case in cases) != sorted(path.stem for path in CASES.glob("*.onnx")):
        wrong.append("cases.json has other cases than the folder")
    for case in cases:
        path = CASES / f"{case['name']}.onnx"
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != case["sha256"]:
            wrong.append(f"{path.name}: it is not the file that cases.json is of")
        elif said_by_file(graph_of(reader, path)) != said_by_file(case["graph"]):
            wrong.append(f"{path.name}: convcast-onnx gives another graph than that of cases.json")
    print("\n".join(wrong) or f"{len(cases)} graphs are as convcast-onnx gives them")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", metavar="CONVCAST_ONNX")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.reader)
    for make in (convolutions, transposed_convolutions, norms, products, poolings, functions, of_two, moves, resizes, views, networks):
        make()
    names = [case.name for case in MADE]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    CASES.mkdir(exist_ok=True)
    for old in CASES.glob("*.onnx"):
        old.unlink()
    lines = []
    for case in sorted(MADE, key=lambda each: each.name):
        model = model_of(case)
        path = CASES / f"{case.name}.onnx"
        path.write_bytes(model.SerializeToString())
        lines.append(json.dumps({"name": case.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                                 "graph": graph_of(arguments.reader, path), "weights": weights_of(model)},
                                separators=(",", ":")))
    (HERE / "cases.json").write_text('{"cases": [\n' + ",\n".join(lines) + "\n]}\n")
    print(f"{len(lines)} cases, {sum(path.stat().st_size for path in CASES.glob('*.onnx'))} bytes of ONNX files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
