"""A server gets a newly trained scorer every few seconds and makes an onnxruntime session of it. The
sessions of all versions stay in its table; the features come from a model on the device.

ticket: microsoft/onnxruntime#5176
class: host-growth
holder: sessions
cause: sessions-kept
"""

import os
import random
import time

import numpy as np
import onnxruntime as ort
import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))


def field(number, value):
    if isinstance(value, int):
        return bytes([number << 3, value]) if value < 128 else bytes([number << 3, value & 127 | 128, value >> 7])
    size, data = len(value), bytearray()
    while size > 127:
        data.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2]) + bytes(data) + bytes([size]) + value


def scorer():
    shape = field(1, 512) + field(1, 1024)
    weights = np.random.randn(512, 1024).astype("float32").tobytes()  # grows
    tensor = shape + field(2, 1) + field(8, b"w") + field(9, weights)
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"MatMul")
    value = {n: field(1, n) + field(2, field(1, field(1, 1) + field(2, field(1, field(2, b"n")) + field(1, field(1, d)))))
             for n, d in ((b"x", 512), (b"y", 1024))}
    graph = field(1, node) + field(2, b"g") + field(5, tensor) + field(11, value[b"x"]) + field(12, value[b"y"])
    return field(1, 8) + field(8, field(1, b"") + field(2, 17)) + field(7, graph)


options = ort.SessionOptions()
options.intra_op_num_threads = 1
sessions, version = {}, 0
features = torch.nn.Linear(128, 512).to(device)
while time.time() < END:
    version += 1
    sessions[version] = ort.InferenceSession(scorer(), options, providers=["CPUExecutionProvider"])  # grows
    for _ in range(random.randint(2, 10)):
        with torch.no_grad():
            x = features(torch.randn(random.randint(1, 64), 128, device=device)).cpu().numpy()
        sessions[version].run(None, {"x": x})
        time.sleep(random.uniform(0.05, 0.2))
