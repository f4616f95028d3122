"""Judges the intonation of takes that the players of an orchestra send in between rehearsals.

A small asyncio service: players hand in takes of about six seconds, the service computes the pitch of each short
stretch on the card (autocorrelation by FFT) and answers how far the take lies from the nearest notes, in cents.  A
player whose take is not judged within three minutes is told so and may send it again.  The players are made up here:
a tone with vibrato and a drift that differs from player to player.  Every two seconds the service prints how many
takes were judged and who is furthest out of tune.

ticket: practice
class: host-growth
holder: _scheduled give_up
cause: timers-left
"""
import asyncio
import math
import os
import time

import numpy as np
import torch

RATE = 44100
LENGTH = 262144
STRETCH = 4096
PATIENCE = 180.0
PLAYERS = ("oboe", "first violin", "viola", "cello", "horn", "flute", "clarinet", "trombone")


class Take:
    def __init__(self, player, number, waveform):
        self.player = player
        self.number = number
        self.waveform = waveform
        self.cents = None
        self.late = False


class PitchJudge:
    def __init__(self, device):
        self.device = device
        self.window = torch.hann_window(STRETCH, device=device)
        self.low = RATE // 1200
        self.high = RATE // 80

    @torch.inference_mode()
    def cents(self, waveform):
        samples = torch.from_numpy(waveform).to(self.device)
        parts = samples.view(-1, STRETCH) * self.window
        spectrum = torch.fft.rfft(parts, n=2 * STRETCH)
        echo = torch.fft.irfft(spectrum.abs().square(), n=2 * STRETCH)[:, self.low:self.high]
        lag = echo.argmax(dim=1) + self.low
        pitch = RATE / lag.float()
        note = 69.0 + 12.0 * torch.log2(pitch / 440.0)
        return (100.0 * (note - note.round())).abs().mean().item()


class Service:
    def __init__(self, judge):
        self.judge = judge
        self.loop = asyncio.get_running_loop()
        self.judged = 0
        self.returned = 0
        self.worst = {}

    def give_up(self, take):
        if take.cents is None:
            take.late = True
            self.returned += 1

    async def handle(self, take):
        self.loop.call_later(PATIENCE, self.give_up, take)  # keeps
        cents = await self.loop.run_in_executor(None, self.judge.cents, take.waveform)
        if take.late:
            return
        take.cents = cents
        self.judged += 1
        before = self.worst.get(take.player, cents)
        self.worst[take.player] = 0.9 * before + 0.1 * cents


def play(dice, player):
    t = np.arange(LENGTH, dtype=np.float32) / RATE
    note = 220.0 * 2.0 ** (dice.integers(0, 24) / 12.0)
    drift = 1.0 + 0.002 * (PLAYERS.index(player) - 3)
    phase = 2.0 * math.pi * note * drift * t + 0.8 * np.sin(2.0 * math.pi * 5.5 * t)
    tone = np.sin(phase) + 0.3 * np.sin(2.0 * phase)
    return tone.astype(np.float32)


async def rehearse(deadline, device):
    service = Service(PitchJudge(device))
    dice = np.random.default_rng(4)
    running = set()
    number = 0
    spoken = time.time()
    while time.time() < deadline:
        player = PLAYERS[int(dice.integers(0, len(PLAYERS)))]
        take = Take(player, number, play(dice, player))  # grows
        number += 1
        task = asyncio.create_task(service.handle(take))
        running.add(task)
        task.add_done_callback(running.discard)
        if time.time() - spoken > 2.0 and service.worst:
            worst = max(service.worst, key=service.worst.get)
            print(f"{service.judged} takes judged, {service.returned} sent back, furthest out: {worst} "
                  f"({service.worst[worst]:.1f} cents)", flush=True)
            spoken = time.time()
        while len(running) > 3:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0.08)
    if running:
        await asyncio.wait(running)
    print(f"rehearsal over, {service.judged} of {number} takes judged", flush=True)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    asyncio.run(rehearse(deadline, device))


if __name__ == "__main__":
    main()
