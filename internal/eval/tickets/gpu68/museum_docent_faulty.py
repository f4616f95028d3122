"""A docent answers the visitors of a museum, three at a time. All he says rests on the same preamble, so the model
reads it once at the opening, and every question goes on from its keys and values.

ticket: practice
class: app-leak
holder: preamble cache DynamicCache layers
cause: buffer-without-bound
"""

import os
import random
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WORDS, VISITORS, PREAMBLE, ANSWER = 4_000, 3, 96, 5


def build(device):
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=12,
        num_attention_heads=4,
        max_position_embeddings=16_384,
    )
    return LlamaForCausalLM(config).to(device).eval()


class Docent:
    def __init__(self, model, device):
        self.model, self.device = model, device
        text = torch.randint(WORDS, (1, PREAMBLE)).repeat(VISITORS, 1)
        self.preamble = self.read(text.to(device), None).past_key_values

    @torch.no_grad()
    def read(self, tokens, cache):
        return self.model(input_ids=tokens, past_key_values=cache, use_cache=True)  # grows keeps

    def answer(self, questions):
        """The likeliest words after the questions, greedily."""
        tokens, words = questions.to(self.device), []
        cache = self.preamble
        for _ in range(ANSWER):
            output = self.read(tokens, cache)
            tokens = output.logits[:, -1:].argmax(dim=-1)
            words.append(tokens)
        return torch.cat(words, dim=1).tolist()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    docent, rounds = Docent(build(device), device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        answers = docent.answer(torch.randint(WORDS, (VISITORS, random.randint(8, 16))))
        rounds += 1
        if rounds % 20 == 0:
            print(f"{rounds * VISITORS} visitors, the last was told {answers[-1]}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
