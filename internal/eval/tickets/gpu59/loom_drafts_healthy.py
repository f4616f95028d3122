"""A tiny compiler for weaving drafts. A draft is an expression over warp and weft, written by a random generator; it is
lowered to three-address code, common subexpressions are merged, and the code is run on the GPU. The temporaries of all
drafts live in one arena, apart from the yarns, so that a draft meets blocks of the right sizes.

ticket: practice
class: none
"""

import ast
import contextlib
import enum
import operator
import os
import random
import sys
import time
from typing import Iterator, NamedTuple

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
THREADS = 448           # a cloth is THREADS x THREADS float32, .77 MiB
LEAVES = ("warp", "weft", "reed")


Op = enum.Enum("Op", "add sub mul")
OF_AST = {ast.Add: Op.add, ast.Sub: Op.sub, ast.Mult: Op.mul}


class Instr(NamedTuple):
    dst: str
    op: Op
    lhs: str
    rhs: str


def generate(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(LEAVES)
    return f"({generate(rng, depth - 1)} {rng.choice('+-*')} {generate(rng, depth - 1)})"


class Lowering(ast.NodeVisitor):
    """AST to three-address code; equal (op, lhs, rhs) get one register."""

    def __init__(self) -> None:
        self.code: list = []
        self.numbered: dict = {}

    def visit_Name(self, node: ast.Name) -> str:
        return node.id

    def visit_BinOp(self, node: ast.BinOp) -> str:
        key = OF_AST[type(node.op)], self.visit(node.left), self.visit(node.right)
        if key not in self.numbered:
            self.numbered[key] = f"%{len(self.code)}"
            self.code.append(Instr(self.numbered[key], *key))
        return self.numbered[key]


def lower(draft: str) -> list:
    lowering = Lowering()
    lowering.visit(ast.parse(draft, mode="eval").body)
    return lowering.code


class Loom:
    def __init__(self) -> None:
        grid = torch.linspace(-1, 1, THREADS, device=DEVICE)
        warp = grid.expand(THREADS, -1).contiguous()
        self.yarns = dict(warp=warp, weft=warp.T.contiguous(), reed=torch.rand(THREADS, THREADS, device=DEVICE))
        self.pool = torch.cuda.MemPool() if DEVICE == "cuda" else None

    @contextlib.contextmanager
    def arena(self) -> Iterator[None]:
        if DEVICE == "cpu":
            yield
            return
        with torch.cuda.use_mem_pool(self.pool):
            yield

    def weave(self, draft: str) -> float:
        registers = dict(self.yarns)
        with self.arena():
            for dst, op, lhs, rhs in lower(draft):
                registers[dst] = getattr(operator, op.name)(registers[lhs], registers[rhs])
        return registers[dst].std().item()


def main() -> int:
    torch.set_num_threads(1)
    rng, loom, woven = random.Random(1804), Loom(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        draft = generate(rng, 3)
        contrast = [loom.weave(draft) for _ in range(3)]
        woven += 1
        if woven % 20 == 0:
            print(f"; {woven} drafts, last {len(lower(draft))} instructions, contrast {contrast[0]:.4f}", flush=True)
        time.sleep(0.25)
    return 0


if __name__ == "__main__":
    sys.exit(main())
