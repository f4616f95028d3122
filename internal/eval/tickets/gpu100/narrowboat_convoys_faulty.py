"""Learns when to let convoys of narrowboats into a canal tunnel that is too narrow for two to pass.

Many simulated tunnels run side by side. In each, boats arrive at the east and the west portal, and a policy says which
portal is given the tunnel for the next slot; turning the direction costs time, since the tunnel must be empty first.
An actor and a critic are trained as the boats come, and a baseline of what a slot is usually worth steadies the actor.

    ticket: practice
    class: app-leak
    holder: baseline
    cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
TUNNELS = 512
HIDDEN = 256
ROUND = 0.125
CONVOY = 4.0
DISCOUNT = 0.95
PACE = 0.05

torch.set_num_threads(1)


def dense(outputs):
    return nn.Sequential(
        nn.Linear(6, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, outputs),
    ).to(DEVICE)


class Tunnels:
    """Queues at both portals of every tunnel, and the direction that each one runs in."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.queues = torch.zeros(TUNNELS, 2, device=DEVICE)
        self.direction = torch.zeros(TUNNELS, dtype=torch.long, device=DEVICE)
        self.rates = 0.6 + 1.8 * torch.rand(TUNNELS, 2, device=DEVICE, generator=self.generator)

    def observe(self):
        facing = nn.functional.one_hot(self.direction, 2).float()
        return torch.cat([self.queues / 20.0, facing, self.rates], dim=1)

    def slot(self, choice):
        """One slot of the timetable; returns how well it went for each tunnel."""
        turned = (choice != self.direction).float()
        room = (CONVOY - 2.0 * turned).unsqueeze(1) * nn.functional.one_hot(choice, 2).float()
        passed = torch.minimum(self.queues, room)
        arrivals = torch.poisson(self.rates, generator=self.generator)
        self.queues = (self.queues - passed + arrivals).clamp(max=40.0)
        self.direction = choice
        return passed.sum(dim=1) - 0.05 * self.queues.sum(dim=1)


class LockKeeper:
    def __init__(self):
        torch.manual_seed(8)
        self.actor = dense(2)
        self.critic = dense(1)
        weights = list(self.actor.parameters()) + list(self.critic.parameters())
        self.optimizer = torch.optim.Adam(weights, lr=1e-3)
        self.baseline = torch.zeros((), device=DEVICE)

    def choose(self, seen):
        spread = torch.distributions.Categorical(logits=self.actor(seen))
        choice = spread.sample()
        return choice, spread.log_prob(choice), spread.entropy().mean()

    def learn(self, seen, log_prob, entropy, reward, after):
        value = self.critic(seen).squeeze(-1)
        ahead = self.critic(after).squeeze(-1)  # grows
        target = (reward + DISCOUNT * ahead).detach()
        advantage = (target - value - self.baseline).detach()
        loss = nn.functional.smooth_l1_loss(value, target) - (log_prob * advantage).mean() - 0.01 * entropy
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        usual = (reward + DISCOUNT * ahead - value.detach()).mean()
        self.baseline = torch.lerp(self.baseline, usual, PACE)  # keeps
        return loss.item()


def main():
    tunnels = Tunnels(seed=3)
    keeper = LockKeeper()
    end = time.time() + SECONDS
    spoken = time.time()
    slots = 0
    seen = tunnels.observe()
    while time.time() < end:
        started = time.time()
        choice, log_prob, entropy = keeper.choose(seen)
        reward = tunnels.slot(choice)
        after = tunnels.observe()
        loss = keeper.learn(seen, log_prob, entropy, reward, after)
        seen = after
        slots += 1
        if time.time() - spoken > 3.0:
            spoken = time.time()
            waiting = tunnels.queues.sum(dim=1).mean().item()
            gained = reward.mean().item()
            print(f"slot {slots}: loss {loss:.3f}, {waiting:.1f} boats wait, reward {gained:.2f}", flush=True)
        time.sleep(max(0.01, ROUND - (time.time() - started)))
    print(f"{slots} slots in {TUNNELS} tunnels on {DEVICE}", flush=True)


if __name__ == "__main__":
    main()
