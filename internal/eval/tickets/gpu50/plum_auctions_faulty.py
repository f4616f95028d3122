"""Plums are sold by auction, and a model guesses the price of every crate from what the sensors measured. The auction
floor is served by a few threads. Each request leaves a trace of its stages with the features and the guess, so that
one can look into a strange price; traces are gathered in memory first, since writing each at once costs too much time.

ticket: practice
class: host-growth
holder: buffer MemoryHandler LogRecord args
cause: log-records-kept buffer-without-bound
"""

import logging
import logging.handlers
import os
import random
import threading
import time

import numpy as np
import torch
from torch import nn

CRATES, SENSORS, FLOORS = 48, 1_024, 3

log = logging.getLogger("auction")
trace = logging.getLogger("auction.trace")


class Prices(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(SENSORS), nn.Linear(SENSORS, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU())
        self.price = nn.Linear(512, 1)

    def forward(self, measured):
        hidden = self.layers(measured)
        return self.price(hidden)[:, 0].exp(), hidden


class Auction:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.lock = threading.Lock()
        self.sold, self.turnover = 0, 0.0

    @torch.inference_mode()
    def guess(self, number, measured):
        started = time.perf_counter()
        prices, hidden = self.model(torch.from_numpy(measured).to(self.device))
        features, prices = hidden.cpu().numpy(), prices.cpu().numpy()  # grows
        took = time.perf_counter() - started
        trace.debug("lot %s: measured %s", number, measured)  # keeps
        trace.debug("lot %s: features %s, prices %s in %.3f s", number, features, prices, took)  # keeps
        return prices

    def sell(self, floor, end):
        rng, lot = np.random.default_rng(floor), 0
        while time.time() < end:
            lot += 1
            measured = rng.standard_normal((CRATES, SENSORS), dtype=np.float32)  # grows
            prices = self.guess(f"{floor}/{lot}", measured)
            with self.lock:
                self.sold += CRATES
                self.turnover += float(prices.sum())
            time.sleep(random.uniform(0.05, 0.25))


def set_up_logging():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    handler = logging.handlers.MemoryHandler(capacity=50, flushLevel=logging.ERROR)
    handler.setLevel(logging.DEBUG)
    trace.addHandler(handler)
    trace.setLevel(logging.DEBUG)
    trace.propagate = False


def main():
    torch.set_num_threads(1)
    set_up_logging()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    auction = Auction(Prices().to(device).eval(), device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    threads = [threading.Thread(target=auction.sell, args=(floor, end)) for floor in range(FLOORS)]
    for thread in threads:
        thread.start()
    while time.time() < end:
        time.sleep(2)
        with auction.lock:
            log.info("%d crates sold for %.0f", auction.sold, auction.turnover)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
