"""A raft drifts through a sewer and sends pings; a network takes the noise out of the echoes as they come. What it
took out of each ping goes to the log in full, and the last lines of the log are shown on a status page, which is
printed every few seconds.

ticket: practice
class: none
"""

import logging
import os
import random
import time
from collections import deque

import torch
from torch import nn

CHANNELS, SAMPLES = 16, 8192
LINES = 4

log = logging.getLogger("raft")


class StatusPage(logging.Handler):
    """Shows the last lines of the log."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self.records = deque(maxlen=LINES)

    def emit(self, record):
        self.records.append(record)

    def __str__(self):
        lines = (self.format(record).replace("\n", " ") for record in list(self.records)[-LINES:])
        return "\n".join(line[:110] for line in lines)


class Cleaner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(CHANNELS, 32, 15, padding=7), nn.ReLU(),
            nn.Conv1d(32, 32, 15, padding=14, dilation=2), nn.ReLU(),
            nn.Conv1d(32, CHANNELS, 15, padding=7),
        )

    def forward(self, echoes):
        return self.layers(echoes)


class Raft:
    def __init__(self):
        self.metres, self.ping = 0.0, 0

    def listen(self):
        """The echoes of the next ping: a burst behind the distance of the wall, and much noise."""
        self.metres += random.uniform(0.1, 0.4)
        self.ping += 1
        echoes = 0.3 * torch.randn(CHANNELS, SAMPLES)
        wall = random.randrange(500, SAMPLES - 500)
        echoes[:, wall : wall + 200] += torch.sin(torch.linspace(0, 60, 200))
        return echoes


@torch.no_grad()
def clean(model, echoes, device):
    """The clean echoes, and on the host what was taken out of them."""
    noisy = echoes.to(device)[None]
    noise = model(noisy)
    return noisy - noise, noise[0].cpu().numpy()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, raft, page = Cleaner().to(device).eval(), Raft(), StatusPage()
    log.setLevel(logging.DEBUG)
    log.addHandler(page)
    log.propagate = False
    shown = time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        echoes, noise = clean(model, raft.listen(), device)
        log.debug("ping %d at %.1f m took out %s", raft.ping, raft.metres, noise)
        level = echoes.abs().amax().item()
        if level > 3.0:
            log.warning("ping %d is loud: %.2f", raft.ping, level)
        if time.time() - shown > 3:
            shown = time.time()
            print(page, flush=True)
        time.sleep(random.uniform(0.03, 0.09))


if __name__ == "__main__":
    main()
