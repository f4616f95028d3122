"""Under torchrun: each step sums over all ranks, and rank 1 keeps its outputs.
A loader with worker processes feeds rank 0."""

import time

import torch
import torch.distributed as dist


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return torch.full((100,), float(index))


kept = []


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    workers = 2 if rank == 0 else 0
    batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=workers))
    going = torch.ones(1)
    end = time.monotonic() + 8
    while going.item():
        total = next(batches)
        dist.all_reduce(total)
        if rank == 1:
            kept.append(torch.ones(60_000))
        going.fill_(float(time.monotonic() < end))
        dist.all_reduce(going, op=dist.ReduceOp.MIN)
        time.sleep(0.01)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
