"""Microphones in beehives are listened to, and a network with a memory tells for each hive how near the bees are to
swarming. The sound comes in pieces, from some hives more often than from others; what the network remembers of a hive
goes into its next piece, all summer long.

ticket: pytorch/pytorch#2198
class: app-leak
holder: remembered hidden
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn

RATE, FRAME, BANDS, WIDTH = 8000, 256, 64, 128
HIVES = ["hive%02d" % number for number in range(20)]
STATES = ("calm", "restless", "piping", "swarming")


class Ear(nn.Module):
    """Sound to bands, bands to what the network remembers, and that to a state of the hive."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(FRAME))
        self.bands = nn.Linear(FRAME // 2 + 1, BANDS)
        self.gru = nn.GRU(BANDS, WIDTH, batch_first=True)
        self.state = nn.Linear(WIDTH, len(STATES))

    def forward(self, sound, hidden):
        frames = sound.unfold(-1, FRAME, FRAME) * self.window
        power = torch.fft.rfft(frames).abs().log1p()
        heard, hidden = self.gru(torch.relu(self.bands(power)), hidden)  # grows
        return self.state(heard[:, -1]), hidden


class Apiary:
    """The hives, with what is remembered of each, and how often each has been in which state."""

    def __init__(self, device):
        self.device, self.ear = device, Ear().to(device)
        self.ear.eval()
        self.remembered = {}
        self.told = {hive: dict.fromkeys(STATES, 0) for hive in HIVES}

    def listen(self, hive, sound):
        logits, hidden = self.ear(sound.to(self.device)[None], self.remembered.get(hive))
        self.remembered[hive] = hidden  # keeps
        state = STATES[int(logits.argmax())]
        self.told[hive][state] += 1
        return state

    def restless(self):
        """The hive which has been calm the least of all."""
        return min(HIVES, key=lambda hive: self.told[hive]["calm"] / (1 + sum(self.told[hive].values())))


def microphone(hive, seconds):
    """A hum about as high as that of bees, with some noise from the road."""
    moment = torch.arange(int(seconds * RATE) // FRAME * FRAME) / RATE
    pitch = 190 + 6 * HIVES.index(hive) + random.uniform(-8, 8)
    hum = sum(torch.sin(6.283 * pitch * over * moment) / over for over in (1, 2, 3))
    return 0.3 * hum + 0.1 * torch.randn(len(moment))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    apiary, pieces = Apiary("cuda" if torch.cuda.is_available() else "cpu"), 0
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    busy = [1 + 3 * (number % 4 == 0) for number in range(len(HIVES))]
    while time.time() < end:
        hive = random.choices(HIVES, busy)[0]
        state = apiary.listen(hive, microphone(hive, random.choice((1, 2, 3))))
        pieces += 1
        if time.time() - said > 2:
            said = time.time()
            print(pieces, "pieces, last", hive, state, "; least calm is", apiary.restless(), flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
