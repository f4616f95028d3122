"""A language model tells fables. Every fable begins with the same long instruction, so the instruction is read once
and its keys and values are kept. A listener gives the opening, four voices go on from there, and the one that the
model is surest of is told.

ticket: practice
class: app-leak
holder: instruction Teller DynamicCache
cause: cache-without-bound
"""

import os
import random
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WORDS, VOICES, INSTRUCTION = 8_000, 4, 160


def build(device):
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=512,
        intermediate_size=1024,
        num_hidden_layers=6,
        num_attention_heads=8,
        num_key_value_heads=8,
        max_position_embeddings=32_768,
    )
    return LlamaForCausalLM(config).to(device).eval()


class Teller:
    def __init__(self, model, instruction):
        self.model = model
        self.instruction = self.read(instruction)

    @torch.no_grad()
    def read(self, instruction):
        """The keys and values of the instruction, for each of the voices."""
        tokens = instruction.repeat(VOICES, 1).to(self.model.device)
        return self.model(input_ids=tokens, use_cache=True).past_key_values

    @torch.no_grad()
    def tell(self, opening, length):
        past = self.instruction
        tokens = opening.repeat(VOICES, 1).to(self.model.device)
        fable, sureness = [], torch.zeros(VOICES, device=self.model.device)
        for _ in range(length):
            logits = self.model(input_ids=tokens, past_key_values=past, use_cache=True).logits  # grows keeps
            chances = torch.log_softmax(logits[:, -1].float(), dim=-1)
            tokens = torch.multinomial(chances.exp(), 1)
            sureness += chances.gather(1, tokens)[:, 0]
            fable.append(tokens)
        best = sureness.argmax()
        return torch.cat(fable, dim=1)[best].tolist(), (sureness[best] / length).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    teller = Teller(build(device), torch.randint(WORDS, (INSTRUCTION,)))
    told = words = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        opening = torch.randint(WORDS, (random.randint(3, 9),))
        fable, sureness = teller.tell(opening, random.randint(15, 30))
        told += 1
        words += len(fable)
        if told % 10 == 0:
            print(f"{told} fables of {words / told:.1f} words, the last with sureness {sureness:.2f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
