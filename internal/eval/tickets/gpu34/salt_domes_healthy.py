"""Where is the salt? A gravimeter is flown over a basin again and again, and the density below is fitted to all that it
has measured so far. The fit goes on for ever, with a quasi-Newton method (limited-memory BFGS) that never makes the
inverse of the Hessian: it makes its directions from the last pairs of steps and changes of the gradient.

ticket: practice
class: none
"""

import os
import time
from collections import deque

import torch

LAYERS, SIDE, CELL = 16, 64, 50.0


class Gravity:
    """The attraction of a block of ground at its surface, layer by layer with the fast Fourier transform."""

    def __init__(self, device):
        frequency = torch.fft.fftfreq(SIDE, CELL).to(device)
        wave = 2 * torch.pi * (frequency[:, None].square() + frequency[None, :].square()).sqrt()
        depths = CELL * (torch.arange(LAYERS, device=device) + 0.5)
        self.decay = torch.exp(-wave * depths[:, None, None])

    def __call__(self, density):
        spectrum = torch.fft.fft2(density.view(LAYERS, SIDE, SIDE)) * self.decay
        return torch.fft.ifft2(spectrum.sum(dim=0)).real


class Directions:
    """Nocedal's two loops."""

    def __init__(self):
        self.pairs = deque(maxlen=12)
        self.model = self.gradient = None

    def add(self, model, gradient):
        if self.model is not None:
            step = model - self.model
            change = gradient - self.gradient
            curvature = torch.dot(step, change)
            if curvature > 1e-10:
                self.pairs.append((step, change, 1 / curvature))
        self.model, self.gradient = model, gradient

    def __call__(self):
        direction, weights = self.gradient.clone(), []
        for step, change, scale in reversed(self.pairs):
            weight = scale * torch.dot(step, direction)
            direction -= weight * change
            weights.append(weight)
        if self.pairs:
            step, change, scale = self.pairs[-1]
            direction /= scale * torch.dot(change, change)
        for (step, change, scale), weight in zip(self.pairs, reversed(weights)):
            direction += step * (weight - scale * torch.dot(change, direction))
        return -direction


class Survey:
    """The mean of what the flights measured over a basin with two domes."""

    def __init__(self, gravity, device):
        salt = torch.zeros(LAYERS, SIDE, SIDE, device=device)
        salt[4:, 12:24, 30:44] = -0.3
        salt[7:, 40:52, 10:22] = -0.2
        self.field = gravity(salt.flatten())
        self.mean, self.flights = torch.zeros_like(self.field), 0

    def fly(self):
        self.flights += 1
        measured = self.field + 0.2 * torch.randn_like(self.field)
        self.mean += (measured - self.mean) / self.flights


def misfit_and_gradient(gravity, model, measured):
    model = model.detach().requires_grad_()
    rough = model.view(LAYERS, SIDE, SIDE).diff(dim=1).square().sum()
    misfit = 0.5 * (gravity(model) - measured).square().sum() + 0.05 * rough + 0.01 * model.square().sum()
    (gradient,) = torch.autograd.grad(misfit, model)
    return misfit.item(), gradient


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    gravity, directions, iteration = Gravity(device), Directions(), 0
    survey, model = Survey(gravity, device), torch.zeros(LAYERS * SIDE * SIDE, device=device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if iteration % 5 == 0:
            survey.fly()
        misfit, gradient = misfit_and_gradient(gravity, model, survey.mean)
        directions.add(model, gradient)
        direction = directions()
        model = model + min(1.0, 20 / direction.norm().item()) * direction
        iteration += 1
        if iteration % 20 == 0:
            print(f"iteration {iteration}, {survey.flights} flights: misfit {misfit:.2f}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
