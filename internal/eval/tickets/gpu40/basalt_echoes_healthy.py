"""The reflectivity of a basalt section is recovered from its blurred, noisy echoes, one shot after the other. The
optimiser is an own online L-BFGS: it estimates the curvature from the last eight steps. The misfit is printed.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch

SIDE, MEMORY, DAMPING = 448, 8, 0.02


class Curvature:
    """What the steps so far tell of the inverse Hessian."""

    def __init__(self, memory):
        self.pairs = deque(maxlen=memory)

    def learn(self, step, change):
        product = torch.dot(step, change).item()
        if product > 1e-8:
            self.pairs.append((step, change, 1.0 / product))

    def apply(self, gradient):
        """The two loops of Nocedal: the gradient times the inverse Hessian."""
        recent = list(self.pairs)
        direction, factors = gradient.clone(), []
        for step, change, rho in reversed(recent):
            factor = rho * torch.dot(step, direction)
            direction -= factor * change
            factors.append(factor)
        if recent:
            step, change, rho = recent[-1]
            direction *= 1.0 / (rho * torch.dot(change, change))
        for (step, change, rho), factor in zip(recent, reversed(factors)):
            direction += (factor - rho * torch.dot(change, direction)) * step
        return direction


class Survey:
    def __init__(self, device):
        self.device = device
        depth, width = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
        layers = torch.sin(0.09 * depth + 0.8 * torch.sin(0.02 * width)) > 0.92
        self.truth = layers.float().to(device)
        self.frequencies = torch.fft.rfftfreq(SIDE, device=device)[None, :]
        self.rows = torch.fft.fftfreq(SIDE, device=device)[:, None]

    def wavelet(self):
        """Each shot has its own width, so each has its own spectrum."""
        width = random.uniform(4.0, 9.0)
        return torch.exp(-(width ** 2) * (self.frequencies ** 2 + self.rows ** 2))

    def blur(self, section, spectrum):
        return torch.fft.irfft2(torch.fft.rfft2(section) * spectrum, s=(SIDE, SIDE))

    def shot(self):
        spectrum = self.wavelet()
        echoes = self.blur(self.truth, spectrum)
        return spectrum, echoes + 0.01 * torch.randn(SIDE, SIDE, device=self.device)

    def misfit(self, flat, spectrum, echoes):
        """The misfit of a section and its gradient (the blur is its own adjoint)."""
        section = flat.view(SIDE, SIDE)
        residual = self.blur(section, spectrum) - echoes
        gradient = self.blur(residual, spectrum) + DAMPING * section
        value = 0.5 * (residual.square().sum() + DAMPING * section.square().sum())
        return value.item(), gradient.reshape(-1)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    survey, curvature = Survey(device), Curvature(MEMORY)
    section, shots = torch.zeros(SIDE * SIDE, device=device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        spectrum, echoes = survey.shot()
        value, gradient = survey.misfit(section, spectrum, echoes)
        step = -0.3 * curvature.apply(gradient)
        section = section + step
        change = survey.misfit(section, spectrum, echoes)[1] - gradient
        curvature.learn(step, change)
        shots += 1
        if shots % 20 == 0:
            print(f"shot {shots}: misfit {value:.2f}", flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
