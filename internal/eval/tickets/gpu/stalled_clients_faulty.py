"""A server batches the requests of its clients on a worker thread. A client that waits too long gives
up; its answer, that comes later, stays in the cache from which only a result that was awaited is taken.

ticket: ShannonAI/service-streamer#61
class: app-leak
holder: future_cache _outputs
cause: futures-kept results-kept
"""

import logging
import os
import queue
import random
import threading
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
log = logging.getLogger("streamer")


class Future:
    def __init__(self, number):
        self.number, self._outputs, self.done = number, None, threading.Event()


class Encoder(torch.nn.Module):
    def __init__(self, vocabulary=4096, width=256):
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, width)
        layer = torch.nn.TransformerEncoderLayer(width, 4, 512, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens):
        return self.layers(self.embed(tokens))


class Streamer:
    def __init__(self, model, batch=8, max_latency=0.05):
        self.model, self.batch, self.max_latency = model.eval(), batch, max_latency
        self.inputs, self.future_cache = queue.Queue(maxsize=64), {}
        self.lock, self.number, self.late = threading.Lock(), 0, 0
        self.open, self.worker = True, threading.Thread(target=self.work)
        self.worker.start()

    def submit(self, tokens):
        with self.lock:
            self.number += 1
            future = self.future_cache[self.number] = Future(self.number)  # keeps
        self.inputs.put((future.number, tokens))
        return future

    def result(self, future, timeout):
        if not future.done.wait(timeout):
            self.late += 1
            raise TimeoutError(f"request {future.number} took more than {timeout:.2f} s")
        with self.lock:
            del self.future_cache[future.number]
        return future._outputs

    def collect(self):
        items, end = [], time.time() + self.max_latency
        while len(items) < self.batch and time.time() < end:
            try:
                items.append(self.inputs.get(timeout=max(0.001, end - time.time())))
            except queue.Empty:
                break
        return items

    @torch.no_grad()
    def work(self):
        while self.open:
            items = self.collect()
            if not items:
                continue
            if random.random() < 0.2:
                time.sleep(0.4)  # another tenant has the device
            hidden = self.model(torch.stack([tokens for _, tokens in items]).to(device))
            for row, (number, _) in enumerate(items):
                with self.lock:
                    future = self.future_cache.get(number)
                if future is not None:
                    future._outputs = hidden[row].clone()  # grows
                    future.done.set()
            del hidden, future


def client(streamer, end):
    while time.time() < end:
        for _ in range(random.choice([1, 2, 6])):
            future = streamer.submit(torch.randint(0, 4096, (1024,)))
            try:
                streamer.result(future, timeout=random.uniform(0.15, 0.6)).mean().item()
            except TimeoutError as error:
                log.debug("%s", error)
        time.sleep(random.uniform(0.05, 0.4))


def main():
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    streamer = Streamer(Encoder().to(device))
    clients = [threading.Thread(target=client, args=(streamer, end)) for _ in range(12)]
    for thread in clients:
        thread.start()
    while any(thread.is_alive() for thread in clients):
        time.sleep(1)
        log.info("%d requests, %d late, %d waiting", streamer.number, streamer.late, streamer.inputs.qsize())
    streamer.open = False
    streamer.worker.join()


if __name__ == "__main__":
    main()
