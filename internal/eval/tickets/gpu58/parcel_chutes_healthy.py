"""Sends parcels to their chutes. An encoder in PyTorch makes an embedding of each picture; a small head in ONNX, which
is trained anew all the time, chooses the chute. The registry takes each new version of the head while the sorter
runs, and keeps the session before so that one can go back.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import onnxruntime as ort
import torch
from torch import nn

BATCH, SIDE, WIDTH, HIDDEN, CHUTES = 16, 64, 256, 2048, 48
NEW_HEAD_EVERY = 4


def varint(number):
    coded = bytearray()
    while number > 127:
        coded.append(number & 127 | 128)
        number >>= 7
    return bytes(coded) + bytes([number])


def field(number, value):
    """One field of a protobuf message: an integer, or text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(kind, inputs, output):
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind))


def weights(name, array):
    dims = b"".join(field(1, size) for size in array.shape)
    return field(5, dims + field(2, 1) + field(8, name) + field(9, array.tobytes()))


def port(number, name, width):
    shape = field(1, field(2, "batch")) + field(1, field(1, width))
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def train_head(version):
    """The next head as a model in ONNX: two matrices with a ReLU between them."""
    generator = np.random.default_rng(version)
    first = generator.standard_normal((WIDTH, HIDDEN), dtype=np.float32) / np.float32(WIDTH**0.5)
    second = generator.standard_normal((HIDDEN, CHUTES), dtype=np.float32) / np.float32(HIDDEN**0.5)
    graph = node("MatMul", ["embedding", "first"], "wide") + node("Relu", ["wide"], "active")
    graph += node("MatMul", ["active", "second"], "scores") + field(2, "head")
    graph += weights("first", first) + weights("second", second)
    graph += port(11, "embedding", WIDTH) + port(12, "scores", CHUTES)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


class Registry:
    def __init__(self):
        self.sessions, self.version = {}, 0
        self.options = ort.SessionOptions()
        self.options.intra_op_num_threads = self.options.inter_op_num_threads = 1

    def publish(self, model):
        session = ort.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        self.version += 1
        self.sessions[self.version] = session
        self.sessions.pop(self.version - 2, None)

    def choose(self, embeddings):
        (scores,) = self.sessions[self.version].run(["scores"], {"embedding": embeddings})
        return scores.argmax(axis=1)


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(1024, WIDTH)
    ).to(device).eval()
    registry, parcels, chutes = Registry(), 0, np.zeros(CHUTES, dtype=np.int64)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if parcels % (BATCH * NEW_HEAD_EVERY) == 0:
            registry.publish(train_head(registry.version + 1))
        pictures = torch.rand(BATCH, 3, SIDE, SIDE, device=device)
        chosen = registry.choose(encoder(pictures).cpu().numpy())
        chutes += np.bincount(chosen, minlength=CHUTES)
        parcels += BATCH
        if parcels % (BATCH * 20) == 0:
            print(f"{parcels} parcels, head {registry.version}, busiest chute {chutes.argmax()}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
