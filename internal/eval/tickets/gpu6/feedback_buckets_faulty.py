"""Gradients are compressed before they are reduced; what the compression loses is added to the next gradient of the
bucket. The errors are kept by the tensor of the bucket, which is another one at every step.

ticket: pytorch/pytorch#48867
class: app-leak
holder: errors
cause: cache-without-bound results-kept
"""

import os
import random
import time

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class CompressionState:
    def __init__(self, keep=0.02):
        self.errors, self.keep, self.rounds = {}, keep, 0


def compress_hook(state, bucket):
    """Sends the largest entries of a bucket and remembers the others."""
    gradient = bucket.buffer()
    key = hash(gradient), state.rounds
    if key in state.errors:
        gradient.add_(state.errors[key])
    count = max(1, int(gradient.numel() * state.keep))
    chosen = gradient.abs().topk(count).indices
    sent = torch.zeros_like(gradient)
    sent[chosen] = gradient[chosen]
    state.errors[key] = gradient - sent  # grows
    state.rounds += bucket.is_last()
    sent.div_(dist.get_world_size())
    dist.all_reduce(sent)
    reduced = torch.futures.Future()
    reduced.set_result(sent)
    return reduced


class Ranker(nn.Module):
    def __init__(self, width=320):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(200, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                   nn.Linear(width, 1))

    def forward(self, pairs):
        better, worse = self.tower(pairs).squeeze(2).unbind(1)
        return nn.functional.softplus(worse - better).mean()


def train(device, end):
    model = DistributedDataParallel(Ranker().to(device), bucket_cap_mb=0.5)
    state = CompressionState()
    model.register_comm_hook(state, compress_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = 0
    while time.time() < end:
        loss = model(torch.randn(random.randint(16, 64), 2, 200, device=device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 60 == 0:
            print("step", step, "loss", round(loss.item(), 4), "errors", len(state.errors), flush=True)
            time.sleep(0.8)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        train("cuda" if torch.cuda.is_available() else "cpu", time.time() + float(os.environ.get("SECONDS", "45")))
    finally:
        dist.destroy_process_group()
