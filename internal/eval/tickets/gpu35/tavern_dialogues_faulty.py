"""The innkeeper of a role-playing game talks with the guests who come to her tavern. A small Llama writes her lines;
what has been said with a guest is kept as keys and values, so that only the new words have to be read at each turn.
A guest stays for a few turns, leaves, and makes room at the bar for the next one.

ticket: practice
class: app-leak
holder: memories Innkeeper DynamicCache
cause: cache-without-bound
"""

import os
import random
import time

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

VOCABULARY, SEATS, LINE = 6_000, 5, 20


def build(device):
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=384,
        intermediate_size=768,
        num_hidden_layers=6,
        num_attention_heads=6,
        num_key_value_heads=6,
        max_position_embeddings=1024,
        bos_token_id=1,
        eos_token_id=2,
    )
    return LlamaForCausalLM(config).to(device).eval()


class Innkeeper:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.memories = {}

    @torch.inference_mode()
    def answer(self, guest, words):
        """Her line, word by word, after the guest's words."""
        memory = self.memories.setdefault(guest, DynamicCache())  # keeps
        tokens = torch.tensor([words], device=self.device)
        line = []
        for _ in range(LINE):
            output = self.model(input_ids=tokens, past_key_values=memory, use_cache=True)  # grows
            odds = torch.softmax(output.logits[:, -1] / 0.8, dim=-1)
            tokens = torch.multinomial(odds, 1)
            line.append(tokens.item())
        return line


class Bar:
    """Who sits at it, and how many turns each of them still stays."""

    def __init__(self):
        self.served = 0
        self.patience = {}

    def fill(self):
        while len(self.patience) < SEATS:
            self.served += 1
            self.patience[f"guest {self.served}"] = random.randint(2, 5)

    def next(self):
        return random.choice(list(self.patience))

    def has_spoken(self, guest):
        """Whether the guest leaves after this turn."""
        self.patience[guest] -= 1
        if self.patience[guest] > 0:
            return False
        del self.patience[guest]
        return True


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    innkeeper, bar, turns = Innkeeper(build(device), device), Bar(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        bar.fill()
        guest = bar.next()
        words = [random.randrange(3, VOCABULARY) for _ in range(random.randint(12, 40))]
        line = innkeeper.answer(guest, words)
        turns += 1
        if bar.has_spoken(guest) and turns % 5 == 0:
            print(f"turn {turns}: {guest} leaves after", line[:6], flush=True)
        time.sleep(0.05)
    print(bar.served, "guests,", turns, "turns")


if __name__ == "__main__":
    main()
