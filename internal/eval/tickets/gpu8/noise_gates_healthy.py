"""Clips of sound are freed from noise: spectra on the device, a gate for each band by an ONNX model on the processor.
So that the runtime can lay out its memory beforehand, spectra are filled up to one of a few numbers of frames,
and a session is made for each of these.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

BANDS, INNER, HOP = 257, 384, 160


def gate_model():
    """Two layers over the bands, for any number of frames."""
    numbers = np.random.default_rng(5)
    shapes = {"w1": (BANDS, INNER), "b1": (INNER,), "w2": (INNER, BANDS), "b2": (BANDS,)}
    weights = [numpy_helper.from_array(numbers.normal(0, 0.05, shape).astype(np.float32), name)
               for name, shape in shapes.items()]
    nodes = [helper.make_node("MatMul", ["loud", "w1"], ["m1"]), helper.make_node("Add", ["m1", "b1"], ["a1"]),
             helper.make_node("Relu", ["a1"], ["r1"]), helper.make_node("MatMul", ["r1", "w2"], ["m2"]),
             helper.make_node("Add", ["m2", "b2"], ["a2"]), helper.make_node("Sigmoid", ["a2"], ["gate"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["frames", BANDS]) for name in ("loud", "gate")]
    graph = helper.make_graph(nodes, "gates", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model.SerializeToString()


class Cleaner:
    def __init__(self, device):
        self.device, self.model, self.gates = device, gate_model(), {}
        self.window = torch.hann_window(512, device=device)

    def gate(self, frames):
        if frames not in self.gates:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.add_free_dimension_override_by_name("frames", frames)
            self.gates[frames] = onnxruntime.InferenceSession(
                self.model, options, providers=["CPUExecutionProvider"])
        return self.gates[frames]

    @torch.inference_mode()
    def clean(self, sound):
        spectrum = torch.stft(sound.to(self.device), 512, HOP, window=self.window, return_complex=True)
        loud = spectrum.abs().log1p().T.cpu().numpy()
        frames = -(-len(loud) // 256) * 256
        filled = np.pad(loud, ((0, frames - len(loud)), (0, 0)))
        marks = self.gate(frames).run(["gate"], {"loud": filled})[0][:len(loud)]
        spectrum = spectrum * torch.from_numpy(marks).to(self.device).T
        return torch.istft(spectrum, 512, HOP, window=self.window, length=len(sound)).cpu()


def clip():
    """A tone in noise, of any length up to some seconds."""
    length = random.randint(4000, 160000)
    tone = torch.sin(torch.arange(length) * random.uniform(0.05, 0.4))
    return tone * random.uniform(0.2, 1) + 0.3 * torch.randn(length)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    cleaner, clips = Cleaner("cuda" if torch.cuda.is_available() else "cpu"), 0
    cleaner.clean(torch.randn(160000))
    while time.time() < end:
        for _ in range(random.choice((1, 1, 2, 5))):
            clean = cleaner.clean(clip())
            clips += 1
            if clips % 25 == 0:
                print(clips, "clips", len(cleaner.gates), "sessions", round(float(clean.std()), 3), flush=True)
            time.sleep(random.uniform(0.05, 0.15))
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
