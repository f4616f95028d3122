"""Hotels send their bookings as a table and get back which guests are likely to cancel. Each table is a job, for which
a small network is trained for a moment. What a job logs shall be seen on its page too, so that while it is worked on
the logger of the jobs has a handler that copies the lines to it.

ticket: practice
class: none
"""

import logging
import os
import random
import time

import numpy as np
import torch
from torch import nn

ROWS, COLUMNS = (12_000, 18_000, 24_000), 40


class Job:
    def __init__(self, number, table, cancelled):
        self.number, self.table, self.cancelled = number, table, cancelled
        self.lines, self.risks = [], None


class JobHandler(logging.Handler):
    """Copies what is logged to the page of a job."""

    def __init__(self, job):
        super().__init__(logging.INFO)
        self.job = job
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))

    def emit(self, record):
        self.job.lines.append(self.format(record))


def bookings():
    """A hotel's table, and who cancelled so far."""
    table = np.random.standard_normal((random.choice(ROWS), COLUMNS)).astype(np.float32)
    taste = np.random.standard_normal(COLUMNS).astype(np.float32)
    chance = 1 / (1 + np.exp(1 - table @ taste / 3))
    return table, (np.random.random(len(table)) < chance).astype(np.float32)


def train(job, log, device, rounds):
    mean, spread = job.table.mean(0), job.table.std(0)
    rows = torch.as_tensor((job.table - mean) / spread, device=device)
    cancelled = torch.as_tensor(job.cancelled, device=device)
    model = nn.Sequential(nn.Linear(COLUMNS, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for number in range(rounds):
        some = torch.randint(len(rows), (2048,), device=device)
        loss = nn.functional.binary_cross_entropy_with_logits(model(rows[some])[:, 0], cancelled[some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 5 == 0:
            log.info("round %d loss %.3f", number, loss.item())
        time.sleep(random.uniform(0.005, 0.02))
    with torch.no_grad():
        return torch.sigmoid(model(rows)[:, 0]).cpu().numpy()


def work(job, device):
    log, handler = logging.getLogger("hotel.jobs"), JobHandler(job)
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    try:
        log.info("%d bookings", len(job.table))
        job.risks = train(job, log, device, random.choice((12, 18, 24)))
        log.info("likely to cancel: %d", (job.risks > 0.5).sum())
    finally:
        log.removeHandler(handler)
        handler.close()
    return "\n".join(job.lines)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end, number = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        number += 1
        page = work(Job(number, *bookings()), device)
        if number % 6 == 0:
            print("job", number, "|", page.splitlines()[-1], flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
