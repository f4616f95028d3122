"""Records a window of real PyTorch on the processor, as if a caching allocator served
it: each storage that an operation makes is a block. Prints the parts of the window,
one a line, and last the composition at the end. With the argument error it prints what
it tells of an error in the middle of a forward pass instead."""

import json
import sys
import types

import torch
from allocator import Blocks, Framework, serve

from gpumem_agent.frameworks import torch_blocks, torch_oom
from gpumem_agent.frameworks.torch_window import Recorder


class Mlp(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = torch.nn.Linear(width, 4 * width)
        self.c_proj = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(torch.relu(self.c_fc(x)))


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln = torch.nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        return x + self.mlp(self.ln(x))


class Gpt(torch.nn.Module):
    def __init__(self, width=64, layers=3):
        super().__init__()
        self.transformer = torch.nn.ModuleDict({"h": torch.nn.ModuleList(Block(width) for _ in range(layers))})
        self.head = torch.nn.Linear(width, 16)

    def forward(self, x):
        for block in self.transformer["h"]:
            x = block(x)
        return self.head(x)


def hooks():
    kept = torch.nn.modules.module
    return len(kept._global_forward_hooks) + len(kept._global_forward_pre_hooks)


blocks = Blocks()
serve(blocks)

with blocks:
    model = Gpt()
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(torch.ones(256, 64)).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    framework = Framework(blocks)
    if "error" in sys.argv:
        told = {}
        torch_oom.SECONDS = torch_oom.GRAPH_SECONDS = 60  # the machine may be slow

        def fail(module, arguments):
            torch_oom.OutOfMemory(framework, None)._add_blocks(told, 0)
            raise MemoryError

        where = model.head if "late" in sys.argv else model.transformer["h"][2].mlp.c_proj
        where.register_forward_pre_hook(fail)
        try:
            model(torch.ones(256, 64))
        except MemoryError:
            print(json.dumps(told))
        sys.exit()
    recorder = Recorder(framework, () if "scanned" in sys.argv else (optimizer,))
    if "compiled" in sys.argv:  # as torch.compile leaves it
        utils = sys.modules["torch._dynamo.utils"] = types.ModuleType("torch._dynamo.utils")
        utils.counters = {"stats": {"unique_graphs": 1}}
    recorder.begin()
    during = hooks()
    for _ in range(3):
        step()
        recorder.step()
    recorder.end()
    recorder.facts = {"from_step": 3, "steps": 3}
    parts = recorder.parts()
    for number, part in enumerate(parts):
        print(json.dumps(dict(part, part=number, parts=len(parts))))
    print(json.dumps(torch_blocks.composition(framework)))
    print(json.dumps({"during": during, "after": hooks(), "calls": len(recorder._calls._events)}))
