"""Sorts ore that passes a line camera in trays. The camera is calibrated for every tray, and ONNX Runtime unmixes the
spectra of the tray's frames with the matrix of that calibration. To be quick, the matrix is a constant of the graph.
The onnx package is missing at the line, so the little graph is put together by hand. A torch model sorts pixels.

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

BANDS, PIXELS, KINDS = 704, 320, 5


def varint(number):
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def field(tag, value):
    """A field of a protocol buffer."""
    if isinstance(value, int):
        return varint(tag << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(value)) + value


def graph(matrix):
    """The bytes of an ONNX model: parts = relu(pixels @ matrix)."""
    def described(name, columns):
        shape = field(1, field(2, "count")) + field(1, field(1, columns))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    rows, columns = matrix.shape
    weights = field(1, rows) + field(1, columns) + field(2, 1) + field(8, "matrix") + field(9, matrix.tobytes())
    product = field(1, "pixels") + field(1, "matrix") + field(2, "mixed") + field(4, "MatMul")
    relu = field(1, "mixed") + field(2, "parts") + field(4, "Relu")
    body = field(1, product) + field(1, relu) + field(2, "unmixing") + field(5, weights)
    body += field(11, described("pixels", rows)) + field(12, described("parts", columns))
    return field(1, 8) + field(8, field(1, "") + field(2, 13)) + field(7, body)


class Unmixer:
    def __init__(self):
        self.sessions, self.options = {}, ort.SessionOptions()
        self.options.intra_op_num_threads = 1

    def __call__(self, tray, matrix, pixels):
        if tray not in self.sessions:
            self.sessions.clear()
            session = ort.InferenceSession(graph(matrix), self.options, providers=["CPUExecutionProvider"])
            self.sessions[tray] = session
        return self.sessions[tray].run(None, {"pixels": pixels})[0]


def trays(rng):
    """The trays with their calibrations, which are all a bit different."""
    number = 0
    while True:
        drift = rng.standard_normal((BANDS, BANDS), dtype=np.float32)
        yield number, np.eye(BANDS, dtype=np.float32) + 0.01 * drift
        number += 1


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng, unmix = np.random.default_rng(5), Unmixer()
    model = nn.Sequential(nn.Linear(BANDS, 64), nn.ReLU(), nn.Linear(64, KINDS)).to(device).eval()
    found = torch.zeros(KINDS, dtype=torch.long, device=device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for tray, matrix in trays(rng):
        for _ in range(random.randint(2, 4)):
            parts = unmix(tray, matrix, rng.random((PIXELS, BANDS), dtype=np.float32))
            with torch.no_grad():
                kinds = model(torch.from_numpy(parts).to(device)).argmax(dim=1)
            found += torch.bincount(kinds, minlength=KINDS)
            time.sleep(random.uniform(0.1, 0.2))
        if tray % 8 == 0:
            print(f"tray {tray}: pixels by kind {found.tolist()}", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
