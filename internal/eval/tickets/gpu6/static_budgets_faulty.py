"""A writer answers prompts with a static cache of keys and values, so that nothing is allocated while it writes. The
caches are kept for the next prompt by the number of tokens that they have room for, which is another one each time.

ticket: huggingface/transformers#46424
class: app-leak
holder: static caches StaticCache
cause: cache-without-bound per-shape-compile-cache
"""

import os
import random
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

BUDGETS = (192, 384, 640)


class Writer:
    def __init__(self, device):
        self.device = device
        self.config = LlamaConfig(vocab_size=1500, hidden_size=256, intermediate_size=512, num_hidden_layers=4,
                                  num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=1024)
        self.model = LlamaForCausalLM(self.config).to(device).eval()
        self.static, self.answers = {}, 0

    def room(self, tokens):
        return tokens

    def cache(self, tokens):
        room = self.room(tokens)
        if room not in self.static:
            self.static[room] = StaticCache(config=self.config, max_cache_len=room)  # keeps
        else:
            self.static[room].reset()
        return self.static[room]

    @torch.no_grad()
    def answer(self, prompt, new):
        cache = self.cache(len(prompt) + new)
        tokens = torch.tensor([prompt], device=self.device)
        place = torch.arange(len(prompt), device=self.device)
        written = []
        for _ in range(new):
            out = self.model(tokens, past_key_values=cache, position_ids=place[None], use_cache=True)  # grows
            tokens = out.logits[:, -1:].argmax(2)
            place = place[-1:] + 1
            written.append(int(tokens))
        self.answers += 1
        return written


def prompts(end):
    while time.time() < end:
        for _ in range(random.choice([1, 2, 4])):
            yield [random.randrange(1500) for _ in range(random.randint(30, 580))], random.randint(4, 40)
            time.sleep(random.uniform(0.02, 0.2))
        time.sleep(random.uniform(0.1, 0.8))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    writer = Writer("cuda" if torch.cuda.is_available() else "cpu")
    for prompt, new in prompts(end):
        writer.answer(prompt, new)
        if writer.answers % 20 == 0:
            print(writer.answers, "answers,", len(writer.static), "caches", flush=True)


if __name__ == "__main__":
    main()
