"""Writes small ONNX files by the wire format of protocol buffers, for tests: no package of Python's is needed."""


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    if isinstance(value, list):
        return message(5, message(1, name) + b"".join(number(8, v) for v in value) + number(20, 7))
    if isinstance(value, str):
        return message(5, message(1, name) + message(4, value) + number(20, 3))
    if isinstance(value, bytes):  # a graph
        return message(5, message(1, name) + message(6, value) + number(20, 5))
    return message(5, message(1, name) + number(3, value) + number(20, 2))


def node(op, inputs, output, name="", domain="", **attributes):
    return message(1, b"".join(message(1, i) for i in inputs) + message(2, output) + message(3, name) + message(4, op) +
                   b"".join(attribute(k, v) for k, v in attributes.items()) + (message(7, domain) if domain else b""))


def weights(name, dims, kind=1):
    """An initializer without numbers, as where they lie in a file of their own."""
    return message(5, b"".join(number(1, d) for d in dims) + number(2, kind) + message(8, name) +
                   message(13, message(1, "location") + message(2, "weights.bin")) + number(14, 1))


def value(field, name, dims, kind=1):
    """A tensor with its sizes; a text for a size is the name of one that is open."""
    shape = b"".join(message(1, message(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return message(field, message(1, name) + message(2, message(1, number(1, kind) + message(2, shape))))


def graph(*parts, inputs, output="y"):
    return (b"".join(p for p in parts if p[0] == 0x0A) + message(2, "g") + b"".join(p for p in parts if p[0] != 0x0A) +
            b"".join(value(11, *i) for i in inputs) + message(12, message(1, output)))


def model(content, opset=13):
    return number(1, 8) + message(2, "test") + message(7, content) + message(8, message(1, "") + number(2, opset))


def small_network():
    """Two convolutions that are forecast, among operators that are none and convolutions that are not."""
    return model(graph(
        node("Conv", ["x", "w1"], "a", "conv1", strides=[2, 2], pads=[3, 3, 3, 3], kernel_shape=[7, 7]),
        node("Relu", ["a"], "b"),
        node("MaxPool", ["b"], "c", strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("Conv", ["c", "w2"], "d", "conv2", pads=[1, 1, 1, 1], group=2),
        node("Conv", ["d", "w2"], "e", "conv3", pads=[1, 1, 1, 1], group=2),
        node("Conv", ["e", "w3"], "f", "same", strides=[2, 2], auto_pad="SAME_UPPER"),
        node("Conv", ["f", "w3"], "f2", "uneven", pads=[0, 0, 5, 5]),
        node("ConvTranspose", ["f", "w3"], "h", "up"),
        node("Conv", ["s", "w4"], "t", "line"),
        node("Conv", ["u", "w3"], "v", "unknown"),
        node("If", ["cond"], "y", "branch", then_branch=graph(node("Conv", ["a", "w2"], "z", "inner"), inputs=[])),
        weights("w1", [64, 3, 7, 7]), weights("w2", [64, 32, 3, 3]), weights("w3", [16, 64, 3, 3]),
        weights("w4", [8, 4, 3]),
        inputs=[("x", ["batch", 3, 224, 224]), ("s", [1, 4, 100]), ("u", [1, 64, "height", "width"]), ("cond", [1], 9)]))
