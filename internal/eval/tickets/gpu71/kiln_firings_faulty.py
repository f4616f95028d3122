"""A pottery tries glazes in a simulated kiln, and a network learns to foretell the temperatures of each firing. An
experiment log notes the firings that depart from what was foretold. Its latest notes are shown on a status page.

ticket: practice
class: host-growth
holder: records StatusPage page handlers
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SHELVES, MINUTES, SETTINGS, SHOWN = 512, 512, 24, 20

log = logging.getLogger("kiln")


class StatusPage(logging.Handler):
    """Shows the latest notes of the log."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.records = []

    def emit(self, record):
        self.records.append(record)  # keeps

    def render(self):
        latest = list(self.records)[-SHOWN:]
        times = [time.strftime("%H:%M:%S", time.localtime(record.created)) for record in latest]
        text = latest[-1].getMessage().splitlines()[0] if latest else "none"
        return f"{len(latest)} notes since {times[0] if times else '-'}; the last: {text}"


class Kiln(nn.Module):
    """Temperatures by shelf and minute, from the settings of a firing."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(SETTINGS, 128)
        self.shelves = nn.Linear(128, SHELVES * 4)
        self.curves = nn.Parameter(0.1 * torch.randn(4, MINUTES))

    def forward(self, settings):
        shelves = self.shelves(torch.tanh(self.hidden(settings)))
        return shelves.view(SHELVES, 4) @ self.curves


def fire(truth, settings):
    """What the kiln does: the truth, with draughts of changing strength."""
    with torch.no_grad():
        temperatures = truth(settings)
        return temperatures + random.uniform(0.0, 0.3) * torch.randn_like(temperatures)


def check(firing, foretold, measured):
    gaps = (foretold.detach() - measured).abs().cpu().numpy()  # grows
    if gaps.mean() > 0.12:
        log.warning("firing %d is off by %.3f at worst, by shelf: %s", firing, gaps.max(), gaps)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    page = StatusPage()
    log.addHandler(page)
    truth, model = Kiln().to(device), Kiln().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    firings = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        settings = torch.randn(SETTINGS, device=device)
        measured, foretold = fire(truth, settings), model(settings)
        loss = F.mse_loss(foretold, measured)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        check(firings, foretold, measured)
        firings += 1
        if firings % 25 == 0:
            print(f"{firings} firings, loss {loss.item():.4f}; {page.render()}", flush=True)
        time.sleep(random.uniform(0.04, 0.12))


if __name__ == "__main__":
    main()
