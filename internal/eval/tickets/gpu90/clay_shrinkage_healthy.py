"""Predicts how much a clay body shrinks in the kiln of a pottery.

Recipes of clay, grog, feldspar and water and the peak of the firing go in,
the shrinkage in length and width comes out. The workshop fires all day, so
that the network is trained on as reports come. After each load it is tried on
a fixed shelf of test tiles; states that do about as well as the best one stay
at hand, and when a load of spoiled reports has thrown the network off, the
best of them is put back.

ticket: practice
class: none
"""
import copy
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

RECIPE = 9
WIDTH = 640
REPORTS = 256
TILES = 512
STATES = 6


def shrinkage(recipe):
    """What the kiln really does, as far as this exercise goes."""
    clay, grog, feldspar, water, peak = (recipe[:, i] for i in range(5))
    length = 0.6 * clay - 0.3 * grog + 0.2 * water * torch.tanh(peak)
    width = 0.5 * clay - 0.4 * grog + 0.3 * torch.sin(feldspar * peak)
    return torch.stack([length, width], dim=1)


def reports(count, device, noise):
    recipe = torch.randn(count, RECIPE, device=device)
    return recipe, shrinkage(recipe) + noise * torch.randn(count, 2, device=device)


class State:
    """The weights after one load, with what the test tiles said of them."""

    def __init__(self, load, error, weights):
        self.load = load
        self.error = error
        self.weights = weights


class Workshop:
    """Trains on the reports of the loads and minds the states worth having."""

    def __init__(self, device):
        self.device = device
        self.net = nn.Sequential(
            nn.Linear(RECIPE, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(),
            nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 2)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.tiles, self.measured = reports(TILES, device, noise=0.25)
        self.good_states = []
        self.best_error = float("inf")
        self.put_back = 0

    def learn(self, noise):
        recipe, shrunk = reports(REPORTS, self.device, noise)
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(self.net(recipe), shrunk)
        loss.backward()
        self.optimizer.step()

    @torch.no_grad()
    def test(self):
        return F.mse_loss(self.net(self.tiles), self.measured).item()

    def judge(self, load):
        """Notes the state after a load, or goes back to the best one."""
        error = self.test()
        if error > 2.0 * self.best_error:
            best = min(self.good_states, key=lambda state: state.error)
            self.net.load_state_dict(best.weights)
            self.put_back += 1
            return error
        self.best_error = min(self.best_error, error)
        weights = copy.deepcopy(self.net.state_dict())
        self.good_states.append(State(load, error, weights))
        close = [state for state in self.good_states if state.error <= 1.5 * self.best_error]
        self.good_states = sorted(close, key=lambda state: state.error)[:STATES]
        return error


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(47)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    workshop = Workshop(device)
    for _ in range(40):
        workshop.learn(0.1)
    load = 0
    due = time.time()
    while time.time() < end:
        due += 0.2
        noise = 4.0 if load % 37 == 36 else 0.1
        for _ in range(4):
            workshop.learn(noise)
        error = workshop.judge(load)
        load += 1
        if load % 20 == 0:
            print(f"load {load}: error {error:.4f}, best {workshop.best_error:.4f}, "
                  f"put back {workshop.put_back} times", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"kiln cold after {load} loads, best error {workshop.best_error:.4f}", flush=True)


if __name__ == "__main__":
    main()
