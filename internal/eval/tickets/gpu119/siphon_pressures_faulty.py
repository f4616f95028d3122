"""Finding the friction in the lead pipes of an inverted siphon.

Where an aqueduct crosses a valley, its water goes down and up again through pipes under pressure. Gauges along the
pipes are read several times a second; a model of the heads, with a friction for each pipe, is fitted to them. Each
round is checked against a second line of gauges, and the smoothed misfit there sets the size of the steps.

ticket: practice
class: app-leak
holder: smoothed
cause: uncut-autograd-graph
"""
import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
PIPES, STATIONS = 53, 1024
FLOWS = 128


class Siphon:
    """The pipes in the valley, with their true friction, and the gauges on them."""

    def __init__(self):
        self.friction = 0.4 + 0.3 * torch.rand(PIPES, 1, device=DEVICE)
        place = torch.linspace(0.0, 1.0, STATIONS, device=DEVICE)
        self.valley = 4.0 * place * (1.0 - place)
        self.length = place.expand(PIPES, STATIONS).contiguous()
        self.flows = 0.8 + 0.2 * torch.rand(FLOWS, PIPES, STATIONS, device=DEVICE)

    def flow(self, number):
        return self.flows[number % FLOWS]

    def read(self, number):
        """What the gauges show for a flow, with their own error."""
        head = self.valley - self.friction * self.flow(number).square() * self.length
        return torch.tanh(head) + 0.01 * torch.randn(PIPES, STATIONS, device=DEVICE)


class HeadModel(torch.nn.Module):
    """Heads along the pipes from a friction for each pipe, as the gauges would show them."""

    def __init__(self, siphon):
        super().__init__()
        self.siphon = siphon
        self.friction = torch.nn.Parameter(torch.full((PIPES, 1), 0.2, device=DEVICE))

    def forward(self, number):
        drag = self.siphon.flow(number).square().mul_(self.siphon.length)  # grows
        return torch.tanh(self.siphon.valley - self.friction * drag)  # grows


class FrictionFit:
    """Fits the friction and watches the misfit at the second line of gauges."""

    def __init__(self, siphon):
        self.siphon = siphon
        self.model = HeadModel(siphon)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.smoothed = torch.zeros((), device=DEVICE)
        self.checks = 0

    def fit(self, number):
        loss = (self.model(number) - self.siphon.read(number)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def check(self, number):
        misfit = (self.model(number) - self.siphon.read(number)).abs().mean()  # grows
        weight = 1.0 if self.checks == 0 else 0.05
        self.smoothed = torch.lerp(self.smoothed, misfit, weight)  # keeps
        self.checks += 1

    def adapt(self):
        """Smaller steps as the misfit gets near the error of the gauges."""
        rate = 0.01 * min(1.0, max(0.05, float(self.smoothed) / 0.05))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def error(self):
        with torch.no_grad():
            return float((self.model.friction - self.siphon.friction).abs().mean())


class GaugeClock:
    """Rounds of reading, so many a second."""

    def __init__(self, rate):
        self.rate = rate
        self.start = time.monotonic()
        self.number = 0

    def due(self):
        return time.monotonic() - self.start < SECONDS

    def wait(self):
        self.number += 1
        time.sleep(max(0.0, self.start + self.number / self.rate - time.monotonic()))


def main():
    torch.manual_seed(71)
    fit = FrictionFit(Siphon())
    clock = GaugeClock(ROUNDS_PER_SECOND)
    rate = 0.01
    while clock.due():
        fit.fit(clock.number)
        fit.check(clock.number + FLOWS // 2)
        rate = fit.adapt()
        clock.wait()
        if clock.number % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"round {clock.number}: misfit {float(fit.smoothed):.4f}, rate {rate:.4f}, "
                  f"friction off by {fit.error():.4f}", flush=True)
    print(f"{fit.checks} checks, friction off by {fit.error():.4f}", flush=True)


if __name__ == "__main__":
    main()
