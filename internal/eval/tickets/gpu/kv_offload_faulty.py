"""A text engine decodes for its clients and, when a request is through, copies its keys and values to the
host from a thread of its own.
A request that is aborted while it is copied is not asked for again, and stays among those that are.

ticket: sgl-project/sglang#21652
class: app-leak
holder: ongoing_offload
cause: sessions-kept cache-without-bound results-kept futures-kept
"""

import argparse
import dataclasses
import itertools
import logging
import os
import queue
import random
import threading
import time

import torch

log = logging.getLogger("engine")


@dataclasses.dataclass
class Request:
    number: int
    kv: torch.Tensor
    length: int
    wanted: int
    aborted: bool = False
    finished: threading.Event = dataclasses.field(default_factory=threading.Event)
    done: threading.Event = dataclasses.field(default_factory=threading.Event)


class HostSlots:
    """A few buffers on the host, used in turn."""

    def __init__(self, count, shape, pinned):
        self.free = queue.Queue()
        for _ in range(count):
            self.free.put(torch.empty(shape, pin_memory=pinned))


class OffloadManager:
    def __init__(self, slots):
        self.slots, self.ongoing_offload = slots, {}
        self.work, self.acks, self.copied = queue.Queue(), itertools.count(), 0
        threading.Thread(target=self._copy_loop, daemon=True).start()

    def offload(self, request):
        ack = next(self.acks)
        self.ongoing_offload[ack] = request  # keeps
        self.work.put(ack)

    def _copy_loop(self):
        while True:
            ack = self.work.get()
            request = self.ongoing_offload[ack]
            slot = self.slots.free.get()
            time.sleep(random.uniform(0.03, 0.12))
            slot[:, :, : request.length].copy_(request.kv[:, :, : request.length])
            self.slots.free.put(slot)
            self.copied += 1
            request.finished.set()
            if request.aborted:
                continue
            del request
            self._release(ack)

    def _release(self, ack):
        self.ongoing_offload.pop(ack).done.set()


class Engine:
    def __init__(self, options, device):
        self.options, self.device, self.numbers = options, device, itertools.count()
        self.weights = torch.randn(options.width, options.width, device=device) / options.width ** 0.5
        self.waiting, self.running = queue.Queue(), []
        shape = (options.layers, 2, options.context, options.width)
        self.offloads = OffloadManager(HostSlots(4, shape, device == "cuda"))

    def submit(self, prompt, wanted):
        o = self.options
        kv = torch.zeros(o.layers, 2, o.context, o.width, device=self.device)  # grows
        kv[:, :, :prompt] = torch.randn(o.width, device=self.device)
        request = Request(next(self.numbers), kv, prompt, prompt + wanted)
        self.waiting.put(request)
        return request

    @torch.inference_mode()
    def step(self):
        while not self.waiting.empty() and len(self.running) < self.options.batch:
            self.running.append(self.waiting.get())
        for request in self.running:
            hidden = torch.randn(1, self.options.width, device=self.device)
            for layer in request.kv:
                hidden = torch.tanh(hidden @ self.weights)
                scores = torch.softmax(hidden @ layer[0, : request.length].t(), dim=1)
                hidden = hidden + scores @ layer[1, : request.length]
                layer[:, request.length] = hidden
            request.length += 1
        for request in [r for r in self.running if r.length >= r.wanted]:
            self.running.remove(request)
            self.offloads.offload(request)

    def run(self, end):
        while time.time() < end:
            self.step()
            time.sleep(self.options.pause)


def client(engine, end):
    while time.time() < end:
        request = engine.submit(random.randint(100, 300), random.randint(8, 40))
        while request.length < request.wanted and time.time() < end:
            time.sleep(0.01)
        if random.random() < 0.4:
            request.aborted = True
        else:
            request.done.wait(2.0)
        del request
        time.sleep(random.choice([0.05, 0.2, 0.8]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--context", type=int, default=384)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--clients", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.02)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    engine = Engine(options, "cuda" if torch.cuda.is_available() else "cpu")
    threads = [threading.Thread(target=client, args=(engine, end)) for _ in range(options.clients)]
    threads.append(threading.Thread(target=engine.run, args=(end,)))
    for thread in threads:
        thread.start()
    while time.time() < end:
        time.sleep(2.0)
        log.info("running %d, copied %d", len(engine.running), engine.offloads.copied)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
