"""Features from a model on the device are ranked by a session of onnxruntime. Each request has a binding of its own
for inputs and outputs, kept by its number so that a client can come back for the scores; clients rarely do.

ticket: microsoft/onnxruntime#7611
class: host-growth
holder: bindings results
cause: sessions-kept results-kept cache-without-bound
"""

import os
import random
import time

import numpy as np
import onnxruntime as ort
import torch


def field(number, value):
    """One field of a message of protobuf."""
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    return bytes([number << 3 | 2]) + varint(len(value)) + bytes(value)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def ranker_model(width, outputs):
    weights = (np.random.randn(width, outputs) / width ** 0.5).astype("float32").tobytes()
    tensor = field(1, width) + field(1, outputs) + field(2, 1) + field(8, b"w") + field(9, weights)
    nodes = [field(1, b"x") + field(1, b"w") + field(2, b"h") + field(4, b"MatMul"),
             field(1, b"h") + field(2, b"y") + field(4, b"Sigmoid")]
    shape = {"x": width, "y": outputs}
    infos = {}
    for name, last in shape.items():
        dims = field(1, field(2, b"n")) + field(1, field(1, last))
        infos[name] = field(1, name.encode()) + field(2, field(1, field(1, 1) + field(2, dims)))
    graph = b"".join(field(1, node) for node in nodes) + field(2, b"ranker") + field(5, tensor)
    graph += field(11, infos["x"]) + field(12, infos["y"])
    return field(1, 8) + field(8, field(1, b"") + field(2, 17)) + field(7, graph)


class Ranker:
    def __init__(self, width=192, outputs=256):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(ranker_model(width, outputs), options, providers=["CPUExecutionProvider"])
        self.bindings, self.requests = {}, 0

    def rank(self, features):
        self.requests += 1
        binding = self.session.io_binding()
        binding.bind_cpu_input("x", features)
        binding.bind_output("y")
        self.session.run_with_iobinding(binding)  # grows
        self.bindings[self.requests] = binding  # keeps
        return self.requests

    def collect(self, number):
        return self.bindings.pop(number).copy_outputs_to_cpu()[0][:10]


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = torch.nn.Sequential(torch.nn.Linear(64, 192), torch.nn.Tanh()).to(device).eval()
    ranker = Ranker()
    while time.time() < end:
        with torch.no_grad():
            features = encoder(torch.randn(random.randint(200, 1800), 64, device=device)).cpu().numpy()
        number = ranker.rank(features)
        if random.random() < 0.15:
            ranker.collect(number)
        if number % 50 == 0:
            print("requests", number, flush=True)
        time.sleep(random.uniform(0.1, 0.35))


if __name__ == "__main__":
    main()
