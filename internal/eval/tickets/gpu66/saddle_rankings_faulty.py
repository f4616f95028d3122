"""A market for riding gear ranks what a rider sees. The encoder runs in PyTorch, and each stable has a ranking head of
its own in ONNX Runtime, which is rolled over to a new one now and then. A head that still has requests in flight is
drained before it goes. A few old apps send too narrow a profile and are refused.

ticket: practice
class: host-growth
holder: draining Rack Head
cause: sessions-kept entries-left
"""

import os
import random
import time

import numpy as np
import onnxruntime as ort
import torch
from torch import nn

WIDTH, HIDDEN = 512, 2048
STABLES = "arab", "shire", "welsh"


def field(number, value):
    """One field of a protocol buffer: a number, or bytes behind their length."""
    def varint(n):
        out = bytearray()
        while n > 127:
            out.append(n & 127 | 128)
            n >>= 7
        return bytes(out) + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def head_bytes():
    """An ONNX model with new weights: features, MatMul, Relu, MatMul, scores."""
    def node(kind, inputs, output):
        return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind))

    def tensor(name, array):
        shape = b"".join(field(1, n) for n in array.shape)
        return field(5, shape + field(2, 1) + field(8, name) + field(9, array.tobytes()))

    def value(number, name, width):
        shape = field(1, field(2, "batch")) + field(1, field(1, width))
        return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))

    first = np.random.randn(WIDTH, HIDDEN).astype(np.float32) / WIDTH**0.5
    last = np.random.randn(HIDDEN, 1).astype(np.float32) / HIDDEN**0.5
    nodes = node("MatMul", ("features", "first"), "a") + node("Relu", ("a",), "b")
    nodes += node("MatMul", ("b", "last"), "scores")
    graph = (nodes + field(2, "head") + tensor("first", first) + tensor("last", last)
             + value(11, "features", WIDTH) + value(12, "scores", 1))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


class Head:
    def __init__(self):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        self.session = ort.InferenceSession(head_bytes(), options, providers=["CPUExecutionProvider"])  # grows
        self.in_flight = 0


class Rack:
    def __init__(self):
        self.live, self.draining = {stable: Head() for stable in STABLES}, []

    def roll(self, stable):
        self.draining.append(self.live[stable])  # keeps
        self.live[stable] = Head()  # grows
        self.draining = [head for head in self.draining if head.in_flight]

    def rank(self, stable, features):
        head = self.live[stable]
        head.in_flight += 1
        scores = head.session.run(None, {"features": features})[0]
        head.in_flight -= 1
        return np.argsort(-scores[:, 0])


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = nn.Sequential(nn.Linear(96, 256), nn.ReLU(), nn.Linear(256, WIDTH)).to(device).eval()
    rack, ranked, refused = Rack(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        with torch.inference_mode():
            features = encoder(torch.randn(random.randint(8, 64), 96, device=device)).cpu().numpy()
        try:
            rack.rank(random.choice(STABLES), features if random.random() < 0.75 else features[:, : WIDTH // 2])
            ranked += 1
        except Exception:
            refused += 1
        if (ranked + refused) % 4 == 0:
            rack.roll(random.choice(STABLES))
        if (ranked + refused) % 40 == 0:
            print(f"{ranked} ranked, {refused} refused", flush=True)
        time.sleep(random.uniform(0.04, 0.12))


if __name__ == "__main__":
    main()
