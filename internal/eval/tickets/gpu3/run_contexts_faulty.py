"""Agents answer questions in steps, each run with a context of its own that its steps find in a context
variable. Now and then a run takes a connection, whose pool arms a timer that looks in five minutes whether
it is still used. A timer remembers the context in which it was armed, and so the run.

ticket: run-llama/llama-agents#486
class: app-leak
holder: current_run _scheduled TimerHandle memory
cause: callbacks-left sessions-kept
"""

import asyncio
import contextvars
import logging
import os
import random
import time

import torch

log = logging.getLogger("agents")
current_run = contextvars.ContextVar("current_run", default=None)


class RunContext:
    """What the steps of a run share: the hidden states of what was read."""

    def __init__(self, number):
        self.number, self.memory, self.notes = number, None, []


class Connections:
    """A pool of connections that closes those nobody has used for five minutes."""

    def __init__(self):
        self.idle, self.closed = [], 0

    async def take(self):
        await asyncio.sleep(random.uniform(0.0, 0.03))
        name = self.idle.pop() if self.idle else object()
        self.arm(name)
        return name

    def arm(self, name):
        loop = asyncio.get_running_loop()
        loop.call_later(300.0, self.look, name)  # keeps

    def look(self, name):
        if name in self.idle:
            self.idle.remove(name)
            self.closed += 1

    def give(self, name):
        self.idle.append(name)


class Agent:
    def __init__(self, device, width=1024):
        self.device, self.width, self.connections = device, width, Connections()
        self.read = torch.nn.Linear(width, width).to(device)
        self.decide = torch.nn.Linear(width, 4).to(device)
        self.finished = 0

    @torch.inference_mode()
    async def read_step(self, pages):
        run = current_run.get()
        found = torch.randn(pages * 256, self.width, device=self.device)
        run.memory = torch.tanh(self.read(found))  # grows

    @torch.inference_mode()
    async def decide_step(self):
        run = current_run.get()
        choice = int(self.decide(run.memory.mean(0)).argmax())
        run.notes.append(choice)
        return choice

    async def answer(self, number):
        current_run.set(RunContext(number))
        await self.read_step(random.randint(2, 12))
        for _ in range(random.randint(2, 6)):
            connection = await self.connections.take() if random.random() < 0.25 else None
            await asyncio.sleep(random.uniform(0.01, 0.06))
            await self.decide_step()
            if connection is not None:
                self.connections.give(connection)
        self.finished += 1


async def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end, number = time.time() + float(os.environ.get("SECONDS", "45")), 0
    agent, running = Agent("cuda" if torch.cuda.is_available() else "cpu"), set()
    while time.time() < end:
        for _ in range(random.choice([0, 1, 1, 2])):
            number += 1
            task = asyncio.create_task(agent.answer(number))
            running.add(task)
            task.add_done_callback(running.discard)
        if number % 20 == 0:
            log.info("%d runs, %d finished, %d connections idle", number, agent.finished,
                     len(agent.connections.idle))
        await asyncio.sleep(random.choice([0.1, 0.3, 0.5, 1.0]))
    await asyncio.gather(*running)


if __name__ == "__main__":
    asyncio.run(main())
