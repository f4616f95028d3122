"""A small server of radiation doses: planners send the density of a phantom, slice by slice, and get the dose that a
beam leaves in it, by Gauss-Legendre quadrature along the beam. A request that is not answered within ten minutes is
given up. The planners of this trial send their slices one after the other.

ticket: practice
class: host-growth
holder: _scheduled TimerHandle give_up Request request
cause: timers-left closure-kept
"""

import asyncio
import os
import random
import time

import numpy as np
import torch

SLICES, SIZE, NODES = 4, 256, 24
PLANNERS, PATIENCE = 3, 600.0


class Request:
    """A phantom and the answer that its planner waits for."""

    def __init__(self, planner, density, answer):
        self.planner, self.density, self.answer = planner, density, answer

    def give_up(self):
        if not self.answer.done():
            self.answer.set_exception(TimeoutError(f"planner {self.planner} got no dose"))


class Beam:
    """Gauss-Legendre nodes along the beam."""

    def __init__(self, device):
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        self.device = device
        self.nodes = torch.tensor(nodes, dtype=torch.float32, device=device)
        self.weights = torch.tensor(weights, dtype=torch.float32, device=device)

    @torch.no_grad()
    def dose(self, density):
        """The mean dose in each slice: attenuation at the nodes, weighed and summed."""
        density = torch.from_numpy(density).to(self.device)
        path = density.cumsum(-1) / SIZE
        dose = torch.zeros_like(density)
        for node, weight in zip(self.nodes, self.weights):
            energy = 0.5 * (node + 1)
            dose += weight * torch.exp(-path * (1.5 - energy)) * density
        return dose.mean((1, 2)).cpu().tolist()


class Server:
    def __init__(self, device):
        self.beam, self.waiting, self.answered = Beam(device), asyncio.Queue(16), 0

    async def ask(self, planner, density):
        loop = asyncio.get_running_loop()
        request = Request(planner, density, loop.create_future())
        loop.call_later(PATIENCE, request.give_up)  # keeps
        await self.waiting.put(request)
        return await request.answer

    async def serve(self):
        while True:
            request = await self.waiting.get()
            if not request.answer.done():
                request.answer.set_result(self.beam.dose(request.density))
                self.answered += 1


async def plan(server, number, end):
    """One planner: it sends phantoms and notes the mean dose."""
    rng, mean, count = np.random.default_rng(number), 0.0, 0
    while time.time() < end:
        density = 1 + 0.2 * rng.random((SLICES, SIZE, SIZE), dtype=np.float32)  # grows
        doses = await server.ask(number, density)
        count += 1
        mean += (sum(doses) / SLICES - mean) / count
        if count % 25 == 0:
            print(f"planner {number}: {count} phantoms, mean dose {mean:.4f}, {server.answered} in all", flush=True)
        await asyncio.sleep(random.uniform(0.1, 0.4))


async def run(device):
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    server = Server(device)
    serving = asyncio.create_task(server.serve())
    await asyncio.gather(*(plan(server, number, end) for number in range(PLANNERS)))
    serving.cancel()


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(run("cuda" if torch.cuda.is_available() else "cpu"))
