"""With a real framework, on the processor: keeps an array of 1 MiB a step, and, with
PyTorch, trains a small network meanwhile, fed by worker processes.

Usage: real.py torch|jax|mlx; prints how many arrays are kept."""

import sys
import time

import gpumem

STEPS, NUMBERS = 40, 1 << 18
kept = []


def with_torch():
    import torch

    net = torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    samples = torch.utils.data.TensorDataset(torch.randn(STEPS * 8, 16))
    for (batch,) in torch.utils.data.DataLoader(samples, batch_size=8, num_workers=2):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
        yield torch.ones(NUMBERS)


def with_jax():
    import jax

    one = jax.jit(lambda n: jax.numpy.ones(NUMBERS, "float32") * n)
    for n in range(STEPS):
        yield one(n).block_until_ready()


def with_mlx():
    import mlx.core as mx

    for n in range(STEPS):
        array = mx.ones(NUMBERS) * n
        mx.eval(array)
        yield array


for array in {"torch": with_torch, "jax": with_jax, "mlx": with_mlx}[sys.argv[1]]():
    kept.append(array)
    gpumem.step()
    time.sleep(0.01)
print(len(kept))
