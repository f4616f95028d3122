"""What the agent adds to a small PyTorch training loop on the processor, in
percent. The hook: short blocks of steps with it and with an empty one, in turn
A B B A, so that what else the machine does falls on both; blocks with a sample do
not count. The rest is booked: samples at steps, and the agent's own thread."""

import math
import statistics
import sys
import time

import gpumem_agent
import torch
from torch.optim.optimizer import _global_optimizer_post_hooks as hooks

ROUNDS = int(sys.argv[1])  # of two pairs
STEPS = 10  # of a block

torch.set_num_threads(1)
agent = gpumem_agent.agent()
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
batch = torch.randn(16, 64)
((key, ours),) = hooks.items()
at_step, booked = agent.optimizer_step, []


def timed(*args):
    begun = time.thread_time()
    at_step(*args)
    booked.append(time.thread_time() - begun)


def block(hook):
    """Seconds of processor time that the steps of a block take; None with a sample."""
    hooks[key], samples = hook, len(booked)
    begun = time.thread_time()
    for _ in range(STEPS):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
    taken = time.thread_time() - begun
    return taken if len(booked) == samples else None


def empty(optimizer, args, kwargs):
    pass


def other(optimizer, args, kwargs):
    """Empty, too: each block begins with a hook that the interpreter is new to."""


def interval(values):
    """The median and its 95 % interval, by ranks."""
    values, count = sorted(values), len(values)
    rank = max(0, math.floor(count / 2 - 0.98 * math.sqrt(count)))
    return statistics.median(values), values[rank], values[-1 - rank]


for _ in range(100):
    block(ours)
agent.optimizer_step = timed
clock = time.pthread_getcpuclockid(agent.sampler._identity)
begun, thread = time.perf_counter(), time.clock_gettime(clock)
shares, seconds = [], []
for _ in range(ROUNDS):
    block(empty)  # after a sample the caches are cold
    a, b, b_again, a_again = block(ours), block(empty), block(other), block(ours)
    pairs = (a, b), (a_again, b_again)
    shares += [with_us / without - 1 for with_us, without in pairs if with_us]
    seconds += [b / STEPS, b_again / STEPS]
wall, thread = time.perf_counter() - begun, time.clock_gettime(clock) - thread
print("step-µs", statistics.median(seconds) * 1e6)
print("hook-% hook-low-% hook-high-%", *(100 * share for share in interval(shares)))
print("samples-% thread-%", 100 * sum(booked) / wall, 100 * thread / wall)
