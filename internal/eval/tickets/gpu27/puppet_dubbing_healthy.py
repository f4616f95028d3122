"""The mouths of puppets are fitted to a dubbed voice. A thread reads the film ahead; the pictures and the sound of each
scene are sent to the device through pinned memory, so that the copy runs beside the work. The pinned tensors wait in a
queue until their copies are done.

ticket: practice
class: none
"""

import os
import queue
import threading
import time
from collections import deque

import torch
from torch import nn

FRAMES, HEIGHT, WIDTH = 12, 180, 320
SAMPLES = 16_000


class Courier:
    """Sends tensors to the device without waiting for them."""

    def __init__(self, device):
        self.device = torch.device(device)
        self.cuda = self.device.type == "cuda"
        self.stream = torch.cuda.Stream() if self.cuda else None
        self.flying = deque()

    def send(self, tensor):
        staged = tensor.pin_memory() if self.cuda else tensor.clone()
        if self.cuda:
            with torch.cuda.stream(self.stream):
                arrived = staged.to(self.device, non_blocking=True)
                event = self.stream.record_event()
            torch.cuda.current_stream().wait_stream(self.stream)
            arrived.record_stream(torch.cuda.current_stream())
        else:
            arrived, event = staged.to(self.device), None
        self.flying.append((event, staged))
        return arrived

    def landed(self):
        event, _ = self.flying[0]
        return event is None or event.query()

    def settle(self):
        """Give back the pinned memory of the copies that are done."""
        while self.flying and self.landed():
            self.flying.popleft()


class Mouth(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(nn.Conv2d(3, 16, 7, stride=6), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.hear = nn.Sequential(nn.Conv1d(1, 32, 160, stride=80), nn.ReLU(), nn.AdaptiveAvgPool1d(FRAMES))
        self.open = nn.Linear(256 + 32, 8)

    def forward(self, frames, sound):
        seen = self.see(frames.float() / 255)
        heard = self.hear(sound[None, None])[0].T
        return self.open(torch.cat([seen, heard], dim=1)).sigmoid()


def project(scenes):
    """Read the film ahead."""
    while True:
        frames = torch.randint(256, (FRAMES, 3, HEIGHT, WIDTH), dtype=torch.uint8)
        scenes.put((frames, torch.randn(SAMPLES)))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, courier, scenes = Mouth().to(device).eval(), Courier(device), queue.Queue(maxsize=3)
    threading.Thread(target=project, args=(scenes,), daemon=True).start()
    scene = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        frames, sound = scenes.get()
        frames, sound = courier.send(frames), courier.send(sound)
        with torch.inference_mode():
            opening = model(frames, sound).mean().item()
        courier.settle()
        scene += 1
        if scene % 20 == 0:
            print(f"scene {scene}: the mouths are {opening:.0%} open", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
