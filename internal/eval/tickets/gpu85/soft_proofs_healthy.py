"""Soft proofs for the customers of a print shop.

A customer's page comes in as four separations.  The desk renders it as it will
look on the chosen paper: the separations go through the paper's colour table
(a cube of measured patches) and come out as a picture for the screen.  The
customer looks at it, may ask for crops, and says yes; then the page goes to the
press.  A proof to which nobody answers within a quarter of an hour is
withdrawn by itself and the page is put back into the inbox.

ticket: practice
class: none
"""
import asyncio
import collections
import os
import time

import torch
import torch.nn.functional as F

HIGH, WIDE = 1024, 768
PATCHES = 17
PAGE_PACE = 0.33
PATIENCE = 900.0

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Proof:
    """A page as it stands on the customer's screen."""

    def __init__(self, number, paper, raster):
        self.number = number
        self.paper = paper
        self.raster = raster
        self.views = 0
        self.timer = None

    def crop(self, top, left, side=256):
        self.views += 1
        return self.raster[:, top:top + side, left:left + side]


class Papers:
    """Colour tables: where cyan, magenta and yellow meet, the colour on the sheet."""

    def __init__(self):
        generator = torch.Generator().manual_seed(6)
        axis = torch.linspace(1.0, 0.05, PATCHES)
        yellow, magenta, cyan = torch.meshgrid(axis, axis, axis, indexing="ij")
        ideal = torch.stack([cyan, magenta, yellow])
        self.tables = {}
        for name, warmth in (("coated", 0.01), ("uncoated", 0.05), ("newsprint", 0.12)):
            tint = warmth * torch.rand(3, 1, 1, 1, generator=generator)
            self.tables[name] = (ideal - tint).clamp(0.0, 1.0)[None].to(device)

    @torch.no_grad()
    def render(self, separations, paper):
        """Separations of 4 x HIGH x WIDE to a picture of 3 x HIGH x WIDE."""
        inks = separations[:3].permute(1, 2, 0)[None, None] * 2.0 - 1.0
        colour = F.grid_sample(self.tables[paper], inks, align_corners=True)[0, :, 0]
        return colour * (1.0 - 0.95 * separations[3:4])


class ProofDesk:
    """Proofs on show, by number."""

    def __init__(self, papers):
        self.papers = papers
        self.on_show = {}
        self.approved = 0
        self.withdrawn = 0

    def show(self, number, separations, paper):
        loop = asyncio.get_running_loop()
        raster = self.papers.render(separations, paper)
        proof = Proof(number, paper, raster)
        self.on_show[number] = proof
        proof.timer = loop.call_later(PATIENCE, self.withdraw, proof)
        return proof

    def approve(self, number):
        proof = self.on_show.pop(number)
        proof.timer.cancel()
        self.approved += 1
        return proof.views

    def withdraw(self, proof):
        if self.on_show.pop(proof.number, None) is not None:
            self.withdrawn += 1


def incoming_page(generator):
    coarse = torch.rand(1, 4, 32, 24, generator=generator)
    page = F.interpolate(coarse, size=(HIGH, WIDE), mode="nearest")[0]
    return page.to(device)


async def customer(desk, proof, number):
    """Looks at two corners of the page and says yes."""
    await asyncio.sleep(0.4)
    light = proof.crop(0, 0).mean().item()
    await asyncio.sleep(0.4)
    light += proof.crop(HIGH - 256, WIDE - 256).mean().item()
    desk.approve(number)
    return light / 2.0


async def shop(deadline):
    generator = torch.Generator().manual_seed(19)
    desk = ProofDesk(Papers())
    names = sorted(desk.papers.tables)
    customers = collections.deque()
    lightness = 0.0

    number = 0
    next_page = time.time()
    while time.time() < deadline:
        proof = desk.show(number, incoming_page(generator), names[number % len(names)])
        customers.append(asyncio.create_task(customer(desk, proof, number)))
        while customers and customers[0].done():
            lightness = 0.9 * lightness + 0.1 * customers.popleft().result()
        number += 1
        if number % 15 == 0:
            print(f"page {number} on {proof.paper}: {desk.approved} approved, {desk.withdrawn} withdrawn, "
                  f"{len(desk.on_show)} on show, mean lightness {lightness:.2f}", flush=True)
        next_page += PAGE_PACE
        await asyncio.sleep(max(0.0, next_page - time.time()))

    await asyncio.gather(*customers)
    print(f"desk closed: {desk.approved} of {number} pages approved", flush=True)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    asyncio.run(shop(deadline))


if __name__ == "__main__":
    main()
