"""Clerks answer letters about lighthouses with a language model. All answers start from the same long instructions, so
their keys and values are computed once, when the service starts, and every batch of letters goes on from there: the
letters first, then the words of the answers one by one.

ticket: practice
class: app-leak
holder: instructions DynamicCache layers keys values
cause: buffer-without-bound
"""

import os
import random
import time

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

WORDS, CLERKS, INSTRUCTIONS = 5_000, 4, 96


def build(device):
    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=32_768, bos_token_id=1, eos_token_id=2)
    return LlamaForCausalLM(config).to(device).eval()


class Office:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.instructions = DynamicCache()
        text = torch.randint(WORDS, (1, INSTRUCTIONS), device=device).expand(CLERKS, -1)
        with torch.inference_mode():
            self.model(text, past_key_values=self.instructions)

    @torch.inference_mode()
    def answer(self, letters, words):
        """The answers to these letters, one for each clerk."""
        cache = self.instructions
        found, tokens = [], letters
        for _ in range(words):
            scores = self.model(tokens, past_key_values=cache, logits_to_keep=1).logits[:, -1]  # grows keeps
            tokens = scores.argmax(dim=-1, keepdim=True)
            found.append(tokens)
        return torch.cat(found, dim=1).cpu()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    office, answered, written = Office(build(device), device), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        letters = torch.randint(WORDS, (CLERKS, random.randrange(10, 40)), device=device)
        answers = office.answer(letters, random.randrange(6, 12))
        answered += CLERKS
        written += answers.numel()
        if answered % (15 * CLERKS) == 0:
            print(f"{answered} letters answered with {written} words, the last begins with {answers[0, 0].item()}",
                  flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
