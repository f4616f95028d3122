"""A language model learns on a machine that may be taken away: when told to stop it writes the best weights so far.
Each better state of the model installs a handler of the signal which goes on to the one that was there at first.

ticket: practice
class: none
"""

import os
import random
import signal
import sys
import tempfile
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

FOLDER = tempfile.TemporaryDirectory()
FIRST = signal.getsignal(signal.SIGTERM)


def keep_when_stopped(best, step):
    """Has the best weights written when the machine is taken away."""
    before = FIRST

    def stop(number, frame):
        torch.save(best, os.path.join(FOLDER.name, f"best-{step}.pt"))
        if callable(before):
            before(number, frame)
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, stop)


class Letters:
    """Lines of a made language, whose next letter hangs on the two before."""

    def __init__(self, size=256):
        self.table = torch.randint(0, size, (size, 4))
        self.size = size

    def lines(self, amount, length):
        line = torch.randint(0, self.size, (amount, 2))
        for _ in range(length - 2):
            turn = (line[:, -2] + torch.randint(0, 2, (amount,))) % 4
            line = torch.cat([line, self.table[line[:, -1], turn][:, None]], 1)
        return line


@torch.no_grad()
def evaluate(model, held):
    model.eval()
    loss = float(model(held, labels=held).loss)
    model.train()
    return loss


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = GPT2Config(vocab_size=256, n_positions=64, n_embd=192, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config).to(device).train()
    model.loss_type = "ForCausalLM"
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    letters = Letters()
    held = letters.lines(16, 48).to(device)
    lowest, step, better = float("inf"), 0, 0
    while time.time() < end:
        line = letters.lines(random.choice((4, 6, 8)), random.randint(24, 48)).to(device)
        loss = model(line, labels=line).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        time.sleep(random.uniform(0.03, 0.09))
        if step % 6 == 0:
            held_loss = evaluate(model, held)
            if held_loss < lowest + 0.02:
                lowest, better = min(lowest, held_loss), better + 1
                best = {name: value.detach().clone() for name, value in model.state_dict().items()}
                keep_when_stopped(best, step)
            if step % 60 == 0:
                print("step", step, "held out", round(held_loss, 3), "better", better, "times", flush=True)


if __name__ == "__main__":
    main()
