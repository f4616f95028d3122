"""Language model of old telegrams for the operator's desk of a telegraph museum.

A small GPT-2 learns the clipped style of telegrams as token numbers from a made-up code book, in the way that
operators used to guess the next word from the last. After each step of training the desk is checked on telegrams that
were set aside, and the running mean of that check sets how boldly the desk offers words to the visitors.

ticket: practice
class: app-leak
holder: check_mean
cause: uncut-autograd-graph
"""
import math
import os
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CODE_BOOK = 512
WORDS = 48
BATCH = 8
CHECK_BATCH = 4
ROUNDS_PER_SECOND = 4
PHRASES = 200_000


def small_model(seed):
    """GPT-2 with two layers, from a config alone."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=CODE_BOOK,
        n_positions=WORDS,
        n_embd=64,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=1,
        use_cache=False,
    )
    return GPT2LMHeadModel(config).to(DEVICE)


class TelegramStore:
    """Telegrams as rows of code numbers, made by a chain with a few likely followers for each word."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.followers = self.whole_numbers(2, CODE_BOOK, (CODE_BOOK, 4))
        rows = self.whole_numbers(2, CODE_BOOK, (PHRASES // WORDS, 1))
        columns = [rows]
        for _ in range(WORDS - 1):
            pick = self.whole_numbers(0, 4, rows.shape)
            rows = self.followers[rows, pick].reshape(-1, 1)
            columns.append(rows)
        self.telegrams = torch.cat(columns, dim=1)
        self.split = int(0.9 * len(self.telegrams))

    def whole_numbers(self, low, high, shape):
        return torch.randint(low, high, shape, generator=self.generator, device=DEVICE)

    def for_training(self, size):
        return self.telegrams[self.whole_numbers(0, self.split, (size,))]

    def set_aside(self, size):
        return self.telegrams[self.whole_numbers(self.split, len(self.telegrams), (size,))]


class Desk:
    """The model with its training and its check."""

    def __init__(self, seed):
        self.model = small_model(seed)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-4)
        self.store = TelegramStore(seed + 1)
        self.steps = 0
        self.last_loss = 0.0
        self.check_mean = torch.tensor(math.log(CODE_BOOK), device=DEVICE)

    def train_step(self):
        self.model.train()
        telegrams = self.store.for_training(BATCH)
        loss = self.model(input_ids=telegrams, labels=telegrams).loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.last_loss = loss.item()
        self.steps += 1

    def check(self):
        """Loss on telegrams that were set aside, into the running mean."""
        self.model.eval()
        telegrams = self.store.set_aside(CHECK_BATCH)
        loss = self.model(input_ids=telegrams, labels=telegrams).loss  # grows
        self.check_mean = 0.95 * self.check_mean + 0.05 * loss  # keeps

    def boldness(self):
        """How many words to offer: few while the desk still guesses badly."""
        return 1 + int(max(0.0, 6.5 - self.check_mean.item()))

    @torch.no_grad()
    def offer(self):
        """The likeliest next words for a telegram that was set aside."""
        self.model.eval()
        begun = self.store.set_aside(1)[:, : WORDS // 2]
        logits = self.model(input_ids=begun).logits[0, -1]
        return logits.topk(self.boldness()).indices.tolist()


def main():
    torch.set_num_threads(1)
    desk = Desk(seed=1865)
    started = time.monotonic()
    next_print = started + 2.0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        desk.train_step()
        desk.check()
        if beat >= next_print:
            print(
                f"step {desk.steps:4d}: loss {desk.last_loss:.3f}, set aside {desk.check_mean.item():.3f},"
                f" offers {desk.offer()}",
                flush=True,
            )
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"desk closed after {desk.steps} steps, set aside {desk.check_mean.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
