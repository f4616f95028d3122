"""Layers are calibrated one after the other; what goes from layer to layer is parked on an offload device and looked
up in a dictionary with weak keys. What is on the offload device already is not entered, so that keys can die.

ticket: vllm-project/llm-compressor#2387
class: none
"""

import dataclasses
import logging
import os
import random
import time
import weakref

import torch
from torch import nn

log = logging.getLogger("calibrate")


@dataclasses.dataclass
class CalibrationConfig:
    width: int = 1024
    layers: int = 6
    samples: int = 4
    offload: str = "same"
    pause: float = 0.04


@dataclasses.dataclass(eq=False)
class Activation:
    """The hidden states of one sample between two layers."""

    hidden: torch.Tensor
    layer: int

    def to(self, device):
        return self if self.hidden.device == device else Activation(self.hidden.to(device), self.layer)


class Intermediates:
    """Parks activations on the offload device; one that is shared by several consumers is parked once."""

    def __init__(self, device):
        self.device, self.offloaded, self.parked = device, weakref.WeakKeyDictionary(), 0

    def park(self, activation):
        if activation in self.offloaded:
            return self.offloaded[activation]
        copy = activation.to(self.device)
        if copy is not activation:
            self.offloaded[activation] = copy
        self.parked += 1
        return copy

    def fetch(self, activation, device):
        return activation.to(device).hidden


class Calibrator:
    def __init__(self, config, device):
        self.config, self.device = config, device
        self.layers = nn.ModuleList(nn.Linear(config.width, config.width) for _ in range(config.layers)).to(device)
        self.scales = [torch.ones(config.width, device=device) for _ in self.layers]
        self.cache = Intermediates(device if config.offload == "same" else torch.device("cpu"))

    def layer(self, number, activations):
        module, out = self.layers[number], []
        for activation in activations:
            hidden = self.cache.fetch(activation, self.device)
            self.scales[number] = torch.maximum(self.scales[number], hidden.abs().amax(0))
            hidden = nn.functional.gelu(module(hidden / self.scales[number]))
            out.append(self.cache.park(Activation(hidden, number)))
            time.sleep(self.config.pause * random.uniform(0.5, 2.0))
        return out

    @torch.inference_mode()
    def calibrate(self, end):
        while time.time() < end:
            lengths = [random.randint(64, 320) for _ in range(self.config.samples)]
            states = [torch.randn(n, self.config.width, device=self.device) for n in lengths]
            activations = [self.cache.park(Activation(s, -1)) for s in states]
            for number in range(len(self.layers)):
                activations = self.layer(number, activations)
            log.info("parked %d, known %d", self.cache.parked, len(self.cache.offloaded))


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    calibrator = Calibrator(CalibrationConfig(), device)
    calibrator.calibrate(time.time() + float(os.environ.get("SECONDS", "45")))


if __name__ == "__main__":
    main()
