"""Bespoke tailor: the pieces of a sleeve are altered step by step until they hang well on the arm.

A garment has four pieces of cloth, each a grid of points in space. The tailor eases, pins or presses
one piece at a time; when the strain of the cloth gets worse than allowed the last alteration is
taken back. After some alterations the garment is signed off and the next customer's comes onto the
bench.

ticket: practice
class: host-growth
holder: undo partial
cause: closure-kept
"""
import os
import random
import time
from functools import partial

import torch

torch.set_num_threads(1)

PIECES = ("upper", "under", "cap", "cuff")
GRID = (3, 168, 200)
ALTERATIONS_A_SECOND = 10


def put_back(piece, before):
    piece.copy_(before)


def strain(piece):
    """Mean stretch of the threads along both directions of the weave."""
    warp = piece[:, 1:] - piece[:, :-1]
    weft = piece[:, :, 1:] - piece[:, :, :-1]
    return float(warp.square().sum(0).sqrt().mean() + weft.square().sum(0).sqrt().mean())


def ease(piece, amount):
    inner = (piece[:, :-2, 1:-1] + piece[:, 2:, 1:-1] + piece[:, 1:-1, :-2] + piece[:, 1:-1, 2:]) * 0.25
    piece[:, 1:-1, 1:-1].lerp_(inner, 0.5 + 0.5 * amount)


def pin(piece, amount):
    row = int(amount * (piece.shape[1] - 8))
    piece[2, row: row + 8] += 0.4 * amount


def press(piece, amount):
    piece[2].mul_(1.0 - 0.3 * amount)


class Garment:
    def __init__(self, customer, gen):
        self.customer = customer
        self.pieces = {name: self.cut(gen) for name in PIECES}

    @staticmethod
    def cut(gen):
        cloth = torch.randn(GRID, generator=gen)  # grows
        cloth.mul_(0.05)
        cloth[0] += torch.linspace(0.0, 4.0, GRID[1])[:, None]
        cloth[1] += torch.linspace(0.0, 5.0, GRID[2])[None, :]
        return cloth


class Bench:
    TOOLS = (ease, ease, pin, press)

    def __init__(self, allowed):
        self.allowed = allowed
        self.garment = None
        self.undo = []
        self.signed = 0
        self.taken_back = 0

    def lay_out(self, garment):
        self.garment = garment

    def alter(self, name, tool, amount):
        piece = self.garment.pieces[name]
        before = piece.clone()  # grows
        was = strain(piece)
        tool(piece, amount)
        self.undo.append(partial(put_back, piece, before))  # keeps
        if strain(piece) > was * self.allowed:
            self.undo.pop()()
            self.taken_back += 1

    def sign_off(self):
        worst = max(self.garment.pieces, key=lambda name: strain(self.garment.pieces[name]))
        customer = self.garment.customer
        self.garment = None
        self.signed += 1
        return customer, worst


def orders(rnd):
    """Customers in turn, each with the number of alterations that the fitting asks for."""
    number = 400
    while True:
        number += 1
        yield f"customer {number}", rnd.randint(9, 15)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rnd = random.Random(77)
    gen = torch.Generator().manual_seed(77)
    bench = Bench(allowed=1.01)
    for customer, alterations in orders(rnd):
        bench.lay_out(Garment(customer, gen))
        for _ in range(alterations):
            tick = time.time()
            if tick >= end:
                break
            bench.alter(rnd.choice(PIECES), rnd.choice(Bench.TOOLS), rnd.random())
            time.sleep(max(0.0, 1.0 / ALTERATIONS_A_SECOND - (time.time() - tick)))
        who, worst = bench.sign_off()
        if bench.signed % 3 == 0:
            print(f"{who} signed off, worst piece {worst}, taken back so far {bench.taken_back}", flush=True)
        if time.time() >= end:
            break
    print(f"shop closes, {bench.signed} garments", flush=True)


if __name__ == "__main__":
    main()
