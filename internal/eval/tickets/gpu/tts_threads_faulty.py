"""A speech synthesizer generates frames in one thread and decodes them in another. no_grad holds in the
thread that enters it only, so the state carried from frame to frame carries all steps before.

ticket: kyutai-labs/pocket-tts#16
class: app-leak
holder: state
cause: uncut-autograd-graph
"""

import os
import queue
import random
import threading
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))


class Speaker:
    def __init__(self):
        self.mix = torch.nn.Linear(1024, 512).to(device)
        self.gate = torch.nn.Linear(1024, 512).to(device)
        self.mimi = torch.nn.Linear(512, 1920).to(device)
        self.state = torch.zeros(48, 512, device=device)
        self.frames = queue.Queue(maxsize=8)

    def step(self):
        joined = torch.cat([torch.randn(48, 512, device=device), self.state], dim=1)
        keep = torch.sigmoid(self.gate(joined))
        self.state = keep * self.state + (1 - keep) * torch.tanh(self.mix(joined))  # grows
        return self.state

    def generate(self):
        while time.time() < END:
            for _ in range(random.randint(10, 40)):
                self.frames.put(self.step().detach())
                time.sleep(0.06)
            time.sleep(random.choice([0.2, 1.0, 2.0]))
        self.frames.put(None)

    @torch.no_grad()
    def decode(self):
        for frame in iter(self.frames.get, None):
            self.mimi(frame).abs().max().item()


speaker = Speaker()
with torch.no_grad():
    threads = [threading.Thread(target=work) for work in (speaker.generate, speaker.decode)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
