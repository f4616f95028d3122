"""Telephone desk of the town's taxi ranks.

Passengers ring in bursts, each time a train has come in. Each call is a talk of a few
turns: the passenger speaks, a small language model reads the words on top of what it has
already heard in this call, and its last word tells the zone a cab is wanted in. After the
last turn the cab is sent and the passenger hangs up. A burst is worked off in rounds, one
turn for every open call in each round.

ticket: practice
class: none
"""
import os
import random
import time
from collections import Counter, deque

import torch
from transformers import GPT2Config, GPT2LMHeadModel

STANDS = ("Station", "Opera", "Harbour Square", "Infirmary", "Old Mill")
ZONES = 12
WORDS = 2000
GREETING = 48
SENTENCE = 16
TURNS = 4
BURST_EVERY = 1.5
BURST = (4, 6)
PACE = 0.2


def small_model(device):
    config = GPT2Config(
        vocab_size=WORDS,
        n_positions=256,
        n_embd=768,
        n_layer=6,
        n_head=12,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config).to(device).eval()


class Caller:
    def __init__(self, number, stand):
        self.number = number
        self.stand = stand
        self.past = None
        self.turn = 0

    def words(self, device):
        length = GREETING if self.turn == 0 else SENTENCE
        return torch.randint(1, WORDS, (1, length), device=device)


class Switchboard:
    def __init__(self, device):
        self.device = device
        self.model = small_model(device)
        self.callers = {}
        self.lines = deque()
        self.sent = Counter()
        self.last_number = 0

    def ring(self, count):
        for _ in range(count):
            self.last_number += 1
            caller = Caller(self.last_number, random.choice(STANDS))
            self.callers[caller.number] = caller
            self.lines.append(caller.number)

    @torch.no_grad()
    def listen(self, caller):
        out = self.model(input_ids=caller.words(self.device), past_key_values=caller.past, use_cache=True)
        caller.past = out.past_key_values
        caller.turn += 1
        return int(out.logits[0, -1].argmax()) % ZONES

    def send_cab(self, caller, zone):
        self.sent[zone] += 1
        del self.callers[caller.number]

    def round(self):
        """One turn for each call that is open now; calls with turns left go to the back."""
        for _ in range(len(self.lines)):
            caller = self.callers[self.lines.popleft()]
            zone = self.listen(caller)
            if caller.turn < TURNS:
                self.lines.append(caller.number)
            else:
                self.send_cab(caller, zone)

    def summary(self):
        busiest = self.sent.most_common(1)
        where = f"zone {busiest[0][0]}" if busiest else "no zone yet"
        return f"{sum(self.sent.values())} cabs sent, most to {where}, {len(self.lines)} turns waiting"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(5)
    random.seed(5)
    board = Switchboard("cuda" if torch.cuda.is_available() else "cpu")
    next_train = next_line = time.time()
    while (now := time.time()) < end:
        if now >= next_train:
            board.ring(random.randint(*BURST))
            next_train = now + BURST_EVERY
        board.round()
        if now >= next_line:
            print(board.summary(), flush=True)
            next_line = now + 3
        time.sleep(max(0.0, PACE - (time.time() - now)))


if __name__ == "__main__":
    main()
