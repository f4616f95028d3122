"""Turned from a notebook: a small network learns to tell the make of a label from a photograph of its barcode, some of
which are smudged. So that a smudge does not sway it, the gradient of the loss with respect to the photograph is
punished as well (double backpropagation), which takes a graph of the gradients.

ticket: pytorch/pytorch#7343
class: app-leak
holder: -
cause: reference-cycle
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

HEIGHT, WIDTH, BATCH, MAKES = 64, 256, 16, 8
WEIGHT = 10.0

# %% The labels: each make has bars of its own.

PATTERNS = (torch.rand(MAKES, WIDTH, generator=torch.Generator().manual_seed(3)) > 0.5).float()


def photographs(count):
    """Photographs of random makes, with noise, and every third of them with a smudge."""
    makes = torch.randint(MAKES, (count,))
    images = PATTERNS[makes][:, None, None].repeat(1, 1, HEIGHT, 1)
    images += 2.5 * torch.randn_like(images)
    for image in images[::3]:
        left = torch.randint(WIDTH - 40, ()).item()
        image[..., left:left + 40] = 0.5
    return images, makes


# %% The network.

network = nn.Sequential(
    nn.Conv2d(1, 8, (4, 9), stride=4), nn.Tanh(),
    nn.Conv2d(8, 16, 5, stride=4), nn.Tanh(),
    nn.Flatten(), nn.LazyLinear(MAKES),
)

# %% The loss, with its punishment.


def backpropagate(images, makes):
    """Add the gradients of the loss and of the punishment, and return both."""
    images.requires_grad_(True)
    loss = F.cross_entropy(network(images), makes)
    loss.backward(create_graph=True)  # grows keeps
    slope = images.grad.pow(2).sum(dim=(1, 2, 3)).mean()
    (WEIGHT * slope).backward()
    return loss.item(), slope.item()


@torch.no_grad()
def accuracy(device):
    images, makes = photographs(3 * BATCH)
    guesses = network(images.to(device)).argmax(dim=1).cpu()
    return (guesses == makes).float().mean().item()


# %% The training.


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network.to(device)
    network(photographs(1)[0].to(device))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    step, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        images, makes = photographs(BATCH)
        optimizer.zero_grad()
        loss, slope = backpropagate(images.to(device), makes.to(device))  # grows
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"{step}: loss {loss:.3f}, slope {slope:.2e}, accuracy {accuracy(device):.2f}", flush=True)
        time.sleep(0.1)
    print("trained for", step, "steps")


if __name__ == "__main__":
    main()
