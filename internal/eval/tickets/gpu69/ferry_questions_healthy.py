"""The help desk of a ferry line sorts the questions of its passengers: timetable, luggage, refund and so on. A language
model reads a long instruction and then the question, and the likeliest of the words that name a desk decides. The
instruction is the same for all, so it is read once, and each question starts from a copy of its keys and values.

ticket: huggingface/transformers#37078
class: none
"""

import copy
import os
import random
import time
from collections import Counter

import torch
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY, INSTRUCTION = 4_000, 400
DESKS = {"timetable": 11, "luggage": 12, "refund": 13, "vehicles": 14, "lost and found": 15}


def small_llama():
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=65_536,
    )
    return LlamaForCausalLM(config).eval()


class Sorter:
    """Sends a question to a desk."""

    def __init__(self, model, instruction):
        self.model = model
        self.words = torch.tensor(list(DESKS.values()), device=model.device)
        self.instruction = self.read(instruction, None).past_key_values

    @torch.no_grad()
    def read(self, tokens, past):
        tokens = tokens.to(self.model.device)
        return self.model(tokens, past_key_values=past, use_cache=True, logits_to_keep=1)

    def desk(self, question):
        logits = self.read(question, copy.deepcopy(self.instruction)).logits[0, -1]
        return list(DESKS)[logits[self.words].argmax().item()]


def questions():
    """What the passengers type: short words mostly, seldom a long story."""
    while True:
        length = random.choice((24, 32, 32, 48, 64))
        yield torch.randint(20, VOCABULARY, (1, length))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sorter = Sorter(small_llama().to(device), torch.randint(20, VOCABULARY, (1, INSTRUCTION)))
    counts, slowest = Counter(), 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for question in questions():
        if time.time() >= end:
            break
        start = time.time()
        counts[sorter.desk(question)] += 1
        slowest = max(slowest, time.time() - start)
        if counts.total() % 40 == 0:
            print(f"{counts.total()} questions, slowest {slowest:.3f} s:", dict(counts), flush=True)
        time.sleep(random.expovariate(8))


if __name__ == "__main__":
    main()
