"""A network learns to draw the border that belongs to a quilt. Training must not wait for the disk: about every second
a snapshot of the weights is copied to the host, and a thread writes it to a file, which it then moves over the last
one. At the end the program waits until all is written.

ticket: practice
class: none
"""

import os
import tempfile
import threading
import time

import torch
from torch import nn

PATCHES, COLOURS, WIDTH, BATCH, PAUSE = 36, 8, 768, 64, 0.7


def make_model():
    return nn.Sequential(
        nn.Linear(PATCHES * COLOURS, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, PATCHES * COLOURS),
    )


class Writer(threading.Thread):
    """Writes one snapshot, and puts it in the place of the one before."""

    def __init__(self, snapshot, folder, step):
        super().__init__(name=f"writer-{step}")
        self.snapshot, self.folder, self.step = snapshot, folder, step

    def run(self):
        fresh = os.path.join(self.folder, f"step-{self.step}.pt")
        torch.save(self.snapshot, fresh)
        os.replace(fresh, os.path.join(self.folder, "newest.pt"))


class Saver:
    def __init__(self, model, folder):
        self.model, self.folder = model, folder
        self.writers = []
        self.last = time.time()

    def maybe_save(self, step):
        if time.time() - self.last < PAUSE:
            return
        self.last = time.time()
        snapshot = {name: weight.detach().to("cpu", copy=True)
                    for name, weight in self.model.state_dict().items()}
        writer = Writer(snapshot, self.folder, step)
        writer.start()
        self.writers = [writer, *(old for old in self.writers if old.is_alive())]

    def close(self):
        for writer in self.writers:
            writer.join()


def quilts(device):
    """Quilts of random colours; a border repeats the colours of the opposite side."""
    colours = torch.randint(COLOURS, (BATCH, PATCHES), device=device)
    quilt = nn.functional.one_hot(colours, COLOURS).float().flatten(1)
    return quilt, colours.flip(1)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, step = make_model().to(device), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with tempfile.TemporaryDirectory() as folder:
        saver = Saver(model, folder)
        while time.time() < end:
            quilt, border = quilts(device)
            scores = model(quilt).unflatten(1, (PATCHES, COLOURS))
            loss = nn.functional.cross_entropy(scores.transpose(1, 2), border)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            saver.maybe_save(step)
            if step % 50 == 0:
                print("step", step, "loss", round(loss.item(), 3), flush=True)
            time.sleep(0.04)
        saver.close()


if __name__ == "__main__":
    main()
