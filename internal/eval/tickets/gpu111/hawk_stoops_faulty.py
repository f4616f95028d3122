"""Falconers fly their birds with small radio tags that send height, speed and wing beat. A recurrent network follows
all birds that are in the air at once, and a small head on top of it tells how likely each is to stoop in the next
moments. The head learns on the field from what the birds then do, while the network below stays as it came.

ticket: practice
class: app-leak
holder: hidden
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIRDS = 192
SIGNALS = 32
HIDDEN = 256
ROUNDS_A_SECOND = 5
REPORT_EVERY = 15


class TagReceiver:
    """Plays the signals of the tags: slow climbs, broken now and then by a stoop."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.height = torch.full((BIRDS,), 120.0, device=DEVICE)
        self.stooping = torch.zeros(BIRDS, dtype=torch.bool, device=DEVICE)
        self.mixing = torch.randn(3, SIGNALS, device=DEVICE, generator=self.generator)

    def draw(self, *shape):
        return torch.rand(*shape, device=DEVICE, generator=self.generator)

    def listen(self):
        begins = self.draw(BIRDS) < (self.height / 2500.0).clamp(max=0.2)
        self.stooping = (self.stooping | begins) & (self.height > 25.0)
        climb = 4.0 + 6.0 * self.draw(BIRDS)
        self.height = torch.where(self.stooping, self.height - 55.0, self.height + climb).clamp(10.0, 400.0)
        beat = torch.where(self.stooping, torch.zeros_like(climb), climb / 2.0)
        plain = torch.stack([self.height / 400.0, climb / 10.0, beat / 5.0], dim=1)
        signals = plain @ self.mixing + 0.05 * self.draw(BIRDS, SIGNALS)
        return signals, self.stooping.float()


class StoopModel(nn.Module):
    """The recurrent network for the flight and the head for the stoop."""

    def __init__(self):
        super().__init__()
        self.inlet = nn.Linear(SIGNALS, SIGNALS)
        self.cell = nn.GRUCell(SIGNALS, HIDDEN)
        self.head = nn.Sequential(nn.Linear(HIDDEN, 32), nn.ReLU(), nn.Linear(32, 1))

    def advance(self, signals, hidden):
        return self.cell(torch.tanh(self.inlet(signals)), hidden)  # grows

    def stoop_logit(self, hidden):
        return self.head(hidden).squeeze(1)


class FlightWatch:
    """Follows the birds from round to round and teaches the head."""

    def __init__(self, model):
        self.model = model
        self.hidden = torch.zeros(BIRDS, HIDDEN, device=DEVICE)
        self.optimizer = torch.optim.SGD(model.head.parameters(), lr=0.05, momentum=0.8)
        self.loss = 0.0
        self.hits = 0.0

    def learn(self, stooped):
        logit = self.model.stoop_logit(self.hidden.detach())
        loss = nn.functional.binary_cross_entropy_with_logits(logit, stooped)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.loss = 0.95 * self.loss + 0.05 * loss.item()
        self.hits = 0.95 * self.hits + 0.05 * ((logit > 0) == (stooped > 0.5)).float().mean().item()

    def follow(self, signals):
        self.hidden = self.model.advance(signals, self.hidden)  # keeps

    def calmest(self):
        with torch.no_grad():
            chance = torch.sigmoid(self.model.stoop_logit(self.hidden))
        return int(chance.argmin()), float(chance.min())


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    torch.manual_seed(77)
    receiver = TagReceiver(seed=78)
    watch = FlightWatch(StoopModel().to(DEVICE))
    until = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < until:
        signals, stooped = receiver.listen()
        if rounds:
            watch.learn(stooped)
        watch.follow(signals)
        rounds += 1
        if rounds % REPORT_EVERY == 0:
            bird, chance = watch.calmest()
            falling = int(receiver.stooping.sum())
            print(f"round {rounds}: {falling} birds stoop, loss {watch.loss:.3f}, right {watch.hits:.0%}, "
                  f"calmest bird {bird} ({chance:.2f})", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"flown {rounds} rounds with {BIRDS} birds, last loss {watch.loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
