"""A reward model is trained on prompts that two threads prepare and move to the device beforehand. Now and
then the training waits for an evaluation and for new weights.
The threads prepare as many as they can.

ticket: nvidia-cosmos/cosmos-rl#716
class: app-leak
holder: prefetched queue
cause: unbounded-queue
"""

import dataclasses
import logging
import os
import queue
import random
import threading
import time

import torch
from torch import nn

log = logging.getLogger("rollout")


@dataclasses.dataclass
class Config:
    prompts: int = 12
    tokens: int = 96
    width: int = 256
    threads: int = 2
    pause: float = 0.04
    seconds: float = float(os.environ.get("SECONDS", "40"))


class PromptSource:
    """Prompts as a controller hands them out, with the answers of the last policy."""

    def __init__(self, config):
        self.config, self.table = config, torch.randn(4000, config.width)

    def lease(self):
        tokens = torch.randint(0, 4000, (self.config.prompts, self.config.tokens))
        return {"embedded": self.table[tokens], "rewards": tokens.float().mean(dim=1) / 2000 - 1}


class Prefetcher:
    def __init__(self, source, config, device):
        self.source, self.device, self.closed = source, device, threading.Event()
        self.prefetched = queue.Queue()
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(config.threads)]
        for thread in self.threads:
            thread.start()

    def _work(self):
        while not self.closed.is_set():
            batch = self.source.lease()
            ready = {name: value.to(self.device, non_blocking=True) for name, value in batch.items()}  # grows
            if self.device == "cuda":
                torch.cuda.current_stream().synchronize()
            self.prefetched.put(ready)  # keeps
            time.sleep(random.uniform(0.03, 0.08))

    def __iter__(self):
        while not self.closed.is_set():
            yield self.prefetched.get()

    def close(self):
        self.closed.set()


class RewardModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.score = nn.Linear(width, 1)

    def forward(self, embedded):
        return self.score(self.mix(embedded).mean(dim=1))[:, 0]


class Trainer:
    def __init__(self, config):
        self.config = config
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.source = PromptSource(config)
        self.model = RewardModel(config.width).to(self.device)
        self.best = None
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)

    def step(self, batch):
        loss = nn.functional.mse_loss(self.model(batch["embedded"]), batch["rewards"])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        errors = []
        for _ in range(3):
            batch = self.source.lease()
            errors.append((self.model(batch["embedded"].to(self.device)).cpu() - batch["rewards"]).abs().mean())
            time.sleep(0.1)
        self.model.train()
        return torch.stack(errors).mean().item()

    def sync_weights(self):
        self.best = {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}
        time.sleep(random.uniform(0.1, 0.5))

    def fit(self):
        prefetcher, end = Prefetcher(self.source, self.config, self.device), time.time() + self.config.seconds
        for step, batch in enumerate(prefetcher, 1):
            loss = self.step(batch)
            if step % 40 == 0:
                log.info("step %d: loss %.4f, error %.4f", step, loss, self.evaluate())
                self.sync_weights()
            if time.time() > end:
                break
            time.sleep(self.config.pause)
        prefetcher.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    Trainer(Config()).fit()
