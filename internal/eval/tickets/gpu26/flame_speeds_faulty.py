"""Ignition of many gas mixtures: reactors of random stiffness are integrated with an explicit pair of Bogacki and
Shampine whose step adapts to the error. Some mixtures are too stiff for it: their step falls below the smallest one
allowed. Those are noted with the reason, so that they can be given to an implicit solver afterwards, and the sweep
goes on.

ticket: practice
class: app-leak
holder: failures StepTooSmall error failed
cause: exception-kept tracebacks-kept
"""

import os
import random
import time

import torch

REACTORS, SPECIES = 8192, 24
SMALLEST, FINISH, MOST_STEPS, TOLERANCE = 2e-3, 1.0, 80, 1e-3


class StepTooSmall(ArithmeticError):
    def __init__(self, clock, step):
        super().__init__(f"at {clock:.3f} the step fell to {step:.1e}")


class Mechanism:
    """A chain of reactions: each species turns into the next, and heat speeds all of it up."""

    def __init__(self, stiffness, device):
        spread = torch.linspace(0, 1, SPECIES, device=device)
        self.rates = stiffness ** spread
        self.stiffness = stiffness

    def __call__(self, shares):
        heat = 1 + shares[:, -1:].clamp(0, 1)
        flow = self.rates * shares * heat
        return torch.roll(flow, 1, dims=1) * 0.98 - flow


def integrate(mechanism, shares):
    """Integrates all reactors together to the end; says how many steps that took."""
    clock, step, steps = 0.0, 0.02, 0
    first = mechanism(shares)  # grows
    while clock < FINISH and steps < MOST_STEPS:
        second = mechanism(shares + 0.5 * step * first)  # grows
        third = mechanism(shares + 0.75 * step * second)  # grows
        ahead = shares + step * (2 * first + 3 * second + 4 * third) / 9  # grows
        fourth = mechanism(ahead)  # grows
        rough = shares + step * (7 * first + 6 * second + 8 * third + 3 * fourth) / 24  # grows
        error = (ahead - rough).abs().max().item() / TOLERANCE
        steps += 1
        if error <= 1:
            clock, shares, first = clock + step, ahead, fourth
        step *= min(3.0, max(0.2, 0.9 * (error + 1e-9) ** (-1 / 3)))
        if step < SMALLEST:
            raise StepTooSmall(clock, step)
    return shares, steps


class Sweep:
    def __init__(self, device):
        self.device = device
        self.burnt, self.failures = 0, []

    def run(self, stiffness):
        mechanism = Mechanism(stiffness, self.device)
        fuel = torch.rand(REACTORS, SPECIES, device=self.device)  # grows
        shares = fuel / fuel.sum(dim=1, keepdim=True)  # grows
        try:
            shares, steps = integrate(mechanism, shares)
        except StepTooSmall as failed:
            self.failures.append((stiffness, failed))  # keeps
            return
        self.burnt += 1
        if self.burnt % 5 == 0:
            print(f"stiffness {stiffness:.1f}: {steps} steps, product {shares[:, -1].mean().item():.3f}", flush=True)

    def summary(self):
        stiffness, reason = self.failures[-1]
        return f"{self.burnt} burnt, {len(self.failures)} too stiff, the last ({stiffness:.0f}) {reason}"


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sweep, mixtures = Sweep(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sweep.run(10 ** random.uniform(0.5, 4.0))
        mixtures += 1
        if mixtures % 10 == 0 and sweep.failures:
            print(sweep.summary(), flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
