"""Which cars at the toll gates use a cloned tag? An autoencoder, which learns from the traffic now and then, restores
the features of each passage, and a passage that it restores badly against the usual level is held. The level is
smoothed over the batches, as the traffic changes through the day.

ticket: practice
class: app-leak
holder: level Watch watches
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn

FEATURES, GATES = 96, ("north", "river", "airport")


class Passages(nn.Module):
    """Restores the features of passages through a narrow middle."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(FEATURES, 512), nn.GELU(), nn.Linear(512, 256), nn.GELU(),
                                    nn.Linear(256, 24))
        self.decode = nn.Sequential(nn.Linear(24, 256), nn.GELU(), nn.Linear(256, 512), nn.GELU(),
                                    nn.Linear(512, FEATURES))

    def forward(self, batch):
        return self.decode(self.encode(batch))  # grows


class Watch:
    """The usual error at one gate, and which passages are far above it."""

    def __init__(self, pace=0.05):
        self.pace, self.level = pace, None

    def suspects(self, errors):
        usual = errors.mean()
        if self.level is None:
            self.level = usual
        else:
            self.level = (1 - self.pace) * self.level + self.pace * usual  # keeps
        return errors > 2.5 * self.level


def traffic(size, device):
    """Passages of ordinary cars, and a few that do not look like themselves."""
    kinds = torch.randint(6, (size, 1), device=device)
    batch = torch.sin(kinds * torch.arange(1, FEATURES + 1, device=device) / 7)
    batch = batch + 0.1 * torch.randn_like(batch)
    odd = torch.rand(size, 1, device=device) < 0.01
    return torch.where(odd, torch.randn_like(batch), batch)


def learn(model, optimizer, batch):
    optimizer.zero_grad()
    loss = (model(batch) - batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Passages().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(30):
        loss = learn(model, optimizer, traffic(256, device))
    print(f"ready, loss {loss:.3f}", flush=True)
    watches = {gate: Watch() for gate in GATES}
    batches = held = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        gate = random.choice(GATES)
        batch = traffic(random.choice((256, 384, 512)), device)
        errors = (model(batch) - batch).square().mean(1)
        held += int(watches[gate].suspects(errors).sum())
        batches += 1
        if batches % 12 == 0:
            loss = learn(model, optimizer, traffic(256, device))
            levels = ", ".join(f"{name} {float(watch.level):.3f}" for name, watch in watches.items() if
                               watch.level is not None)
            print(f"{batches} batches, {held} held, usual {levels}, loss {loss:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
