"""A falcon learns to catch the swung lure without tiring itself out. A policy is trained on what a critic says of the
catch, and less a price on effort; the price rises while a second critic's smoothed estimate of the effort is over
what the bird may spend, and falls otherwise.

ticket: practice
class: app-leak
holder: smoothed Price price grad_fn
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BIRDS, SENSES, WINGS, WIDTH = 1024, 18, 4, 192
ALLOWED = 0.6


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(),
                         nn.Linear(WIDTH, outputs))


class Flight:
    """Birds and lures in the plane, all at once."""

    def __init__(self, device):
        self.drag = torch.linspace(0.9, 0.99, SENSES, device=device)
        self.mix = 0.2 * torch.randn(WINGS, SENSES, device=device)
        self.senses = torch.randn(BIRDS, SENSES, device=device)

    def step(self, beats):
        senses = self.senses * self.drag + beats @ self.mix + 0.1 * torch.randn_like(self.senses)
        catch = -senses[:, :2].square().sum(1)
        effort = beats.square().mean(1)
        before, self.senses = self.senses, senses
        return before, catch, effort


class Price:
    """What a unit of effort costs."""

    def __init__(self, rate=0.02, keep=0.95):
        self.rate, self.keep = rate, keep
        self.value, self.smoothed = 0.0, torch.zeros(())

    def update(self, estimate):
        self.smoothed = self.keep * self.smoothed.to(estimate.device) + (1 - self.keep) * estimate  # keeps
        self.value = max(0.0, self.value + self.rate * (self.smoothed.item() - ALLOWED))


class Falconer:
    def __init__(self, device):
        self.policy = network(SENSES, WINGS).to(device)
        self.catch = network(SENSES + WINGS, 1).to(device)
        self.effort = network(SENSES + WINGS, 1).to(device)
        self.price = Price()
        critics = [*self.catch.parameters(), *self.effort.parameters()]
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), 3e-4)
        self.critic_optimizer = torch.optim.Adam(critics, 1e-3)

    def learn(self, senses, beats, catch, effort):
        pair = torch.cat([senses, beats], 1)
        loss = F.mse_loss(self.catch(pair)[:, 0], catch) + F.mse_loss(self.effort(pair)[:, 0], effort)
        self.critic_optimizer.zero_grad()
        loss.backward()
        self.critic_optimizer.step()

        flown = torch.cat([senses, self.policy(senses)], 1)
        gain = self.catch(flown).mean() - self.price.value * self.effort(flown).mean()
        self.policy_optimizer.zero_grad()
        (-gain).backward()
        self.policy_optimizer.step()

        self.price.update(self.effort(pair).mean())  # grows
        return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    flight, falconer, steps = Flight(device), Falconer(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        with torch.no_grad():
            beats = falconer.policy(flight.senses)
            beats += 0.3 * torch.randn_like(beats)
            senses, catch, effort = flight.step(beats)
        loss = falconer.learn(senses, beats, catch, effort)
        steps += 1
        if steps % 20 == 0:
            print(f"step {steps}: critics {loss:.3f}, effort costs {falconer.price.value:.3f}", flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
