"""
My pruning project for the deep learning course. A small "gardener" network learns to predict how a hedge grows from 512
measurements. Every few steps I trim it: the smallest weights are set to zero, a bit more each time until 80 % are gone
(then I let the weakest grow back and start again). A weight that is trimmed has to get no gradient.

ticket: practice
class: app-leak
holder: hook hooks mask weight Trimmer
cause: hooks-left closure-kept
"""
import os
import time

import torch
import torch.nn as nn
import torch.optim as optim

torch.set_num_threads(1)

device = "cuda" if torch.cuda.is_available() else "cpu"

INPUTS = 512
HIDDEN = 1024
BATCH = 64
TRIM_EVERY = 3      # steps
AMOUNTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


class Gardener(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(INPUTS, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc3 = nn.Linear(HIDDEN, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


class Trimmer:
    """Cuts the smallest weights of the two large layers."""

    def __init__(self, model):
        self.layers = [model.fc1, model.fc2]
        self.trims = 0

    def trim(self):
        amount = AMOUNTS[self.trims % len(AMOUNTS)]
        self.trims += 1
        for layer in self.layers:
            weight = layer.weight
            k = int(amount * weight.numel())
            threshold = weight.detach().abs().flatten().kthvalue(k).values
            mask = (weight.detach().abs() > threshold).float()  # grows
            with torch.no_grad():
                weight.mul_(mask)
            weight.register_hook(lambda grad, mask=mask: grad * mask)  # keeps
        return amount

    def regrow(self):
        """A bit of noise, so that there is something to trim again."""
        with torch.no_grad():
            for layer in self.layers:
                layer.weight.add_(torch.randn_like(layer.weight) * 0.005)

    def sparsity(self):
        zeros = sum((layer.weight == 0).sum().item() for layer in self.layers)
        total = sum(layer.weight.numel() for layer in self.layers)
        return zeros / total


def get_batch(true_weights):
    x = torch.randn(BATCH, INPUTS, device=device)
    y = torch.tanh(x @ true_weights) + 0.05 * torch.randn(BATCH, 1, device=device)
    return x, y


def train():
    model = Gardener().to(device)
    trimmer = Trimmer(model)
    criterion = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.02)
    true_weights = torch.randn(INPUTS, 1, device=device) / INPUTS ** 0.5

    end = time.time() + float(os.environ.get("SECONDS", "45"))
    step = 0
    running_loss = 0.0
    while time.time() < end:
        x, y = get_batch(true_weights)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        step += 1

        if step % TRIM_EVERY == 0:
            amount = trimmer.trim()
            if amount == AMOUNTS[-1]:
                print("step", step, "loss %.4f" % (running_loss / step), "zeros %.2f" % trimmer.sparsity(), flush=True)
                trimmer.regrow()
        time.sleep(0.08)


if __name__ == "__main__":
    train()
