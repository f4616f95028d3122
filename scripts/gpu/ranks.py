"""One process a GPU, under torchrun: each step sums gradients over all ranks.

Usage: torchrun --nproc-per-node N ranks.py [--seconds 15] [--leak RANK]

The rank named by --leak keeps its outputs; the others are healthy.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--leak", type=int, default=-1)
    options = parser.parse_args()
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    net = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
    net = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x = torch.randn(64, 512, device="cuda")
    history = []
    going = torch.ones((), device="cuda")
    end = time.monotonic() + options.seconds
    while True:
        out = net(x)
        optimizer.zero_grad(set_to_none=True)
        out.square().mean().backward()
        optimizer.step()
        if rank == options.leak:
            history.append(out.detach())
        # All ranks end with the same step.
        going.fill_(float(time.monotonic() < end))
        dist.all_reduce(going, op=dist.ReduceOp.MIN)
        if not going.item():
            break
        time.sleep(0.005)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
