"""A live transcription runs the model over its whole buffer of audio at each chunk. In speech without a
pause the buffer is hardly ever cut, and the layers always need blocks a bit larger than all freed ones.

ticket: QuentinFuxa/WhisperLiveKit#129
class: pool-growth
cause: outgrown-blocks
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))

first = torch.randn(80, 1280, device=device) * 0.1
second = torch.randn(1280, 96, device=device) * 0.1


class Transcriber:
    def __init__(self):
        self.mel = torch.zeros(2400, 80, device=device)
        self.words = 0

    def add(self, frames):
        self.mel = torch.cat([self.mel, torch.randn(frames, 80, device=device)])
        if len(self.mel) > 12000:
            self.mel = self.mel[-1000:].clone()

    @torch.no_grad()
    def process(self):
        mel = self.mel
        hidden = mel @ first  # grows
        hidden = torch.nn.functional.gelu(hidden)  # grows
        self.words = (hidden @ second).argmax(dim=1).unique().numel()


transcriber = Transcriber()
while time.time() < END:
    frames = random.randint(15, 45)
    transcriber.add(frames)
    transcriber.process()
    time.sleep(frames / 60)
print(transcriber.words)
