"""A batch fails now and then. The error is kept for the summary, and with it its frames.

ticket: pytorch/pytorch#10348
class: host-growth
holder: failures
cause: tracebacks-kept
"""

import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
failures = []


def train(step):
    batch = torch.randn(128, 256)
    logits = net(batch)
    loss = logits.square().mean()
    if step % 4 == 0:
        raise ValueError("batch %d has a label out of range" % step)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


step = 0
while time.time() < END:
    step += 1
    try:
        train(step)
    except ValueError as error:
        failures.append(error)  # grows
    time.sleep(0.02)
