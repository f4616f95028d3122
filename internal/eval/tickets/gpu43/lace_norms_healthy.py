"""Threads of lace patterns, as many as there are in a batch, pass through a network, and after each step we look at the
gradient of the hidden layer: the norm of each of its columns. A Triton kernel sums the squares in blocks of rows into
a workspace, which is made once for a power of two of rows, and the workspace is summed up afterwards.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

FEATURES, COLUMNS, KNOTS = 24, 256, 7
ROWS = 8
WORKSPACES = {}

if torch.cuda.is_available():
    import triton
    import triton.language as tl

    @triton.jit
    def block_squares(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        block = tl.program_id(0)
        column = tl.arange(0, COLUMNS)
        total = tl.zeros((COLUMNS,), dtype=tl.float32)
        for offset in range(ROWS):
            row = block * ROWS + offset
            value = tl.load(x + row * columns + column, mask=(column < columns) & (row < rows), other=0.0)
            total += value * value
        tl.store(out + block * columns + column, total, mask=column < columns)


def workspace(x):
    key = 1 << (x.shape[0] - 1).bit_length(), x.shape[1]
    if key not in WORKSPACES:
        blocks = key[0] // ROWS
        WORKSPACES[key] = torch.empty(blocks, x.shape[1], device=x.device)
    return WORKSPACES[key]


def column_norms(x):
    """The norm of each column."""
    rows, columns = x.shape
    sums = workspace(x)
    blocks = sums.shape[0]
    if x.is_cuda:
        block_squares[(blocks,)](x, sums, rows, columns, ROWS=ROWS, COLUMNS=COLUMNS)
    else:
        padded = F.pad(x.square(), (0, 0, 0, blocks * ROWS - rows))
        torch.sum(padded.view(blocks, ROWS, columns), 1, out=sums)
    return sums.sum(0).sqrt()


class Lace(nn.Module):
    def __init__(self):
        super().__init__()
        self.into = nn.Linear(FEATURES, COLUMNS)
        self.out = nn.Linear(COLUMNS, KNOTS)

    def forward(self, threads):
        hidden = torch.relu(self.into(threads))
        hidden.retain_grad()
        return self.out(hidden), hidden


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, step = Lace().to(device), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        threads = torch.randn(random.randint(4_100, 16_000), FEATURES, device=device)
        knots = threads[:, :KNOTS].argmax(1)
        scores, hidden = model(threads)
        loss = F.cross_entropy(scores, knots)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norms = column_norms(hidden.grad)
        optimizer.step()
        step += 1
        if step % 10 == 0:
            still = (norms < 1e-6).sum().item()
            print(f"step {step}: loss {loss.item():.3f}, largest {norms.max().item():.2e}, {still} still", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
