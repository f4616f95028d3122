"""A small radio plays a lute that never stops. For each listener the server computes plucked strings block by block and
streams them as raw samples over a socket; the listeners read block after block and play them.

ticket: practice
class: host-growth
holder: _buffer transport _transport writer
cause: unbounded-queue buffer-without-bound
"""

import asyncio
import math
import os
import time

import torch

RATE, BLOCK, STRINGS, LISTENERS = 48_000, 65_536, 6, 3


class Lute:
    """Damped harmonics for each string, of which one or two are plucked in each block."""

    def __init__(self, device):
        self.device = device
        self.pitches = torch.tensor([98.0, 130.8, 174.6, 220.0, 293.7, 392.0], device=device)
        self.time = torch.arange(BLOCK, device=device) / RATE
        self.rest = torch.zeros(STRINGS, device=device)

    def play(self):
        plucked = (torch.rand(STRINGS, device=self.device) < 0.3).float()
        self.rest = 0.2 * self.rest + plucked
        sound = torch.zeros(BLOCK, device=self.device)
        for harmonic in range(1, 5):
            waves = torch.sin(2 * math.pi * harmonic * self.pitches[:, None] * self.time)
            sound += (self.rest[:, None] * waves * torch.exp(-harmonic * 2.5 * self.time)).sum(0) / harmonic
        return torch.tanh(sound)


class Radio:
    def __init__(self, device, end):
        self.device, self.end, self.blocks = device, end, 0

    async def serve(self, reader, writer):
        """One listener: the name of the player first, then blocks as long as the radio is on."""
        await reader.readline()
        lute = Lute(self.device)
        try:
            while time.time() < self.end and not writer.is_closing():
                samples = lute.play().cpu().numpy().tobytes()  # grows
                writer.write(samples)  # keeps
                self.blocks += 1
                await asyncio.sleep(0.03)
        except ConnectionError:
            pass
        finally:
            writer.close()


async def listener(port, name, end):
    """Plays block after block, and says how many it had."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{name}\n".encode())
    played = 0
    while time.time() < end:
        try:
            await reader.readexactly(4 * BLOCK)
        except asyncio.IncompleteReadError:
            break
        played += 1
        if played % 20 == 0:
            print(name, "has played", played, "blocks", flush=True)
        await asyncio.sleep(0.12)
    writer.close()


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    radio = Radio("cuda" if torch.cuda.is_available() else "cpu", end)
    server = await asyncio.start_server(radio.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(listener(port, f"listener {n}", end) for n in range(LISTENERS)))
    server.close()
    await asyncio.sleep(0.3)
    print("the radio has sent", radio.blocks, "blocks", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
