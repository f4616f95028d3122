"""A server restarts its model shard, a process of its own, from time to time. When the new shard is
ready the old one is told to end, so that two are there for a moment.

ticket: Kwaai-AI-Lab/KwaaiNet#35
class: none
"""

import os
import random
import time
from multiprocessing import get_context

SECONDS = float(os.environ.get("SECONDS", "40"))


def shard(number, requests, answers):
    import torch
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 512))
    model.to(device)
    answers.put(("ready", number))
    while True:
        rows = requests.get()
        if rows is None:
            return
        answers.put((number, model(torch.randn(rows, 512, device=device)).mean().item()))


class Server:
    def __init__(self):
        self.context = get_context("spawn")
        self.answers = self.context.Queue()
        self.shards = []

    def restart(self):
        requests = self.context.Queue()
        process = self.context.Process(target=shard, args=(len(self.shards), requests, self.answers), daemon=True)
        process.start()
        self.answers.get()
        if self.shards:
            self.stop(*self.shards.pop())
        self.shards.append((process, requests))

    def stop(self, process, requests):
        requests.put(None)
        process.join()


if __name__ == "__main__":
    server, start = Server(), time.time()
    for part in range(1, 5):
        server.restart()
        while time.time() < start + SECONDS * part / 4:
            server.shards[-1][1].put(random.randint(8, 200))
            server.answers.get()
            time.sleep(random.uniform(0.02, 0.2))
    for process, requests in server.shards:
        server.stop(process, requests)
