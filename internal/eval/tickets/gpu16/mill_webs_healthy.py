"""A camera looks at the web of paper that runs out of a mill; a network that has learnt what good paper looks like
marks holes and stains. The log is quiet as long as nothing breaks; if something does, one wants to read what came
before it, so that the last debug lines, with what was seen, are put back until there is an error.

ticket: practice
class: none
"""

import logging
import logging.handlers
import os
import random
import sys
import time

import torch
from torch import nn

ROWS, ACROSS, CELL = 256, 1024, 16

log = logging.getLogger("mill")


class LastLines(logging.handlers.MemoryHandler):
    """Puts back only so many lines, and passes them on when there is an error."""

    def shouldFlush(self, record):
        del self.buffer[:-self.capacity]
        return record.levelno >= self.flushLevel


def set_up_log():
    plain = logging.StreamHandler(sys.stdout)
    plain.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    back = LastLines(24, logging.ERROR, target=plain, flushOnClose=False)
    log.setLevel(logging.DEBUG)
    log.addHandler(back)


class Paper(nn.Module):
    """Says of a piece of paper what it would look like were it good."""

    def __init__(self):
        super().__init__()
        self.narrow = nn.Sequential(nn.Conv2d(1, 16, 5, 4, 2), nn.ReLU(), nn.Conv2d(16, 8, 5, 4, 2), nn.ReLU())
        self.widen = nn.Sequential(nn.ConvTranspose2d(8, 16, 4, 4), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 4))

    def forward(self, web):
        return self.widen(self.narrow(web))


class Inspector:
    def __init__(self, device):
        self.device, self.model, self.usual = device, Paper().to(device), 0.1
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def look(self, web, metres):
        """How many cells of the web are odd."""
        web = web.to(self.device)
        odd = (self.model(web[None, None])[0, 0] - web).abs()
        loss = odd.mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        odd = odd.detach()
        cells = nn.functional.avg_pool2d(odd[None, None], CELL)[0, 0]
        self.usual = 0.95 * self.usual + 0.05 * float(cells.median())
        count = int((cells > 4 * self.usual).sum())
        seen = (255 * odd.clamp(0, 1)).cpu().numpy()
        log.debug("at %.1f m %d cells are odd, usual is %.3f:\n%s", metres, count, self.usual, seen)
        if self.usual > 1:
            log.error("the lamp must be broken at %.1f m", metres)
        return count


class Mill:
    def __init__(self):
        self.metres, self.lamp = 0.0, torch.ones(ACROSS)

    def run(self):
        """The next piece of the web."""
        self.metres += random.uniform(0.5, 1.5)
        self.lamp = (self.lamp + 0.005 * torch.randn(ACROSS)).clamp(0.8, 1.2)
        web = self.lamp * (0.8 + 0.03 * torch.randn(ROWS, ACROSS))
        for _ in range(random.choice((0, 0, 0, 1, 3))):
            row, column, size = random.randrange(ROWS), random.randrange(ACROSS), random.randint(8, 40)
            web[row:row + size, column:column + size] = random.choice((0.0, 0.4))
        return web, self.metres


def main():
    torch.manual_seed(0)
    set_up_log()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    mill, inspector, pieces, odd = Mill(), Inspector(device), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        odd += inspector.look(*mill.run())
        pieces += 1
        if pieces % 20 == 0:
            print(f"{mill.metres:.0f} m of paper, {odd} odd cells, usual {inspector.usual:.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.25))
    log.handlers[0].setTarget(None)


if __name__ == "__main__":
    main()
