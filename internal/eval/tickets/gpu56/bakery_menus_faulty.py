"""Trains a translator for the menus of bakeries. The attention of each step is logged for debugging; it goes through a
buffer of twenty records, so that the disk is not in the way of the training, and a record of an error flushes the
buffer at once.

ticket: practice
class: host-growth
holder: MemoryHandler buffer handlers LogRecord args
cause: log-records-kept buffer-without-bound
"""

import logging
import logging.handlers
import os
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, BATCH, LENGTH = 1_200, 96, 32, 48
log = logging.getLogger("menus")


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, WIDTH), nn.Embedding(WORDS, WIDTH)
        self.reader = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.writer = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.out = nn.Linear(2 * WIDTH, WORDS)

    def forward(self, source, target):
        memory, state = self.reader(self.source(source))
        hidden, _ = self.writer(self.target(target), state)
        attention = torch.softmax(hidden @ memory.transpose(1, 2) / WIDTH**0.5, dim=-1)
        return self.out(torch.cat((hidden, attention @ memory), dim=-1)), attention


def set_up_log(folder):
    """Records go to the file in batches of twenty, or at once when there is an error."""
    file = logging.FileHandler(os.path.join(folder, "training.log"))
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    file.setLevel(logging.WARNING)
    buffer = logging.handlers.MemoryHandler(20, flushLevel=logging.ERROR)
    buffer.setLevel(logging.DEBUG)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(file)
    log.addHandler(buffer)


def menus(device):
    """Source and target: the target names the same things in the reverse order."""
    source = torch.randint(1, WORDS, (BATCH, LENGTH), device=device)
    target = source.flip(1)
    return source, F.pad(target[:, :-1], (1, 0)), target


def train_step(model, optimizer, step, device):
    source, before, target = menus(device)
    logits, attention = model(source, before)
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    weights = attention.detach().cpu().numpy()  # grows
    log.debug("step %d: loss %.3f, attention %s", step, loss.item(), weights)  # keeps
    if not torch.isfinite(norm):
        log.error("step %d: gradient is %s", step, norm.item())
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, step = Translator().to(device), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with tempfile.TemporaryDirectory() as folder:
        set_up_log(folder)
        end = time.time() + float(os.environ.get("SECONDS", "45"))
        while time.time() < end:
            loss = train_step(model, optimizer, step, device)
            step += 1
            if step % 10 == 0:
                print(f"step {step}: loss {loss:.3f}", flush=True)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
