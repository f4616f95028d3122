"""A network learns the gaits of horses from the accelerometers on their hooves. Its layers store their inputs for the
backward pass in half precision, which saves us half of the memory for activations; the store notes the largest of them.
Each few steps it is validated on other horses.

ticket: practice
class: app-leak
holder: Store stored store
cause: cache-without-bound results-kept
"""

import itertools
import os
import time

import torch
from torch import nn
from torch.autograd import Function
from torch.nn import functional as F

SAMPLES, GAITS, BATCH, WIDTH = 384, 5, 256, 768
VALIDATE_EVERY, VALIDATION_BATCHES = 12, 4


class Store:
    """The inputs of layers between the forward and the backward pass."""

    def __init__(self):
        self.stored = {}
        self.numbers = itertools.count()
        self.largest = 0

    def put(self, tensor):
        number = next(self.numbers)
        self.stored[number] = tensor.half()  # grows keeps
        self.largest = max(self.largest, 2 * tensor.numel())
        return number

    def take(self, number):
        return self.stored.pop(number).float()


store = Store()


class HalfLinear(Function):
    @staticmethod
    def forward(ctx, inputs, weight, bias):
        ctx.number = store.put(inputs)
        ctx.save_for_backward(weight)
        return F.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        (weight,) = ctx.saved_tensors
        inputs = store.take(ctx.number)
        return grad @ weight, grad.t() @ inputs, grad.sum(0)


class Linear(nn.Linear):
    def forward(self, inputs):
        return HalfLinear.apply(inputs, self.weight, self.bias)


def strides(device):
    gaits = torch.randint(GAITS, (BATCH,), device=device)
    times = torch.linspace(0, 12, SAMPLES, device=device)
    beats = torch.sin(times * (1 + gaits[:, None])) + 3 * torch.randn(BATCH, SAMPLES, device=device)
    return beats, gaits


@torch.no_grad()
def validate(model, device):
    right = 0
    for _ in range(VALIDATION_BATCHES):
        beats, gaits = strides(device)
        right += (model(beats).argmax(1) == gaits).sum().item()
    return right / (VALIDATION_BATCHES * BATCH)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(
        Linear(SAMPLES, WIDTH), nn.ReLU(), Linear(WIDTH, WIDTH), nn.ReLU(), Linear(WIDTH, GAITS)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        beats, gaits = strides(device)
        loss = F.cross_entropy(model(beats), gaits)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        if step % VALIDATE_EVERY == 0:
            accuracy = validate(model, device)
            print(f"step {step}: loss {loss.item():.2f}, right {accuracy:.2f}, largest {store.largest} B", flush=True)
        time.sleep(0.03)


if __name__ == "__main__":
    main()
