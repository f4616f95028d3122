"""A chat server keeps the keys and values of a conversation for its next turn, and drops them when they are a
minute old; it looks at their age when the conversation comes back. Most do not come back.

ticket: Blaizzy/mlx-vlm#995
class: app-leak
holder: states PromptCacheState
cause: sessions-kept cache-without-bound
"""

import collections
import dataclasses
import logging
import os
import random
import time
import uuid

import torch
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

log = logging.getLogger("chat")


@dataclasses.dataclass
class PromptCacheState:
    cache: object
    tokens: list
    used: float


class PromptCaches:
    def __init__(self, limit=12, age=60.0):
        self.states, self.limit, self.age = collections.OrderedDict(), limit, age
        self.hits = self.misses = 0

    def take(self, key):
        state = self.states.pop(key, None)
        if state is None or time.time() - state.used > self.age:
            self.misses += 1
            return None
        self.hits += 1
        return state

    def put(self, key, cache, tokens):
        self.states[key] = PromptCacheState(cache, tokens, time.time())  # keeps


class Chat:
    def __init__(self, device):
        config = GPT2Config(vocab_size=2000, n_positions=1024, n_embd=512, n_layer=8, n_head=8)
        self.model, self.device, self.caches = GPT2LMHeadModel(config).to(device).eval(), device, PromptCaches()

    @torch.inference_mode()
    def answer(self, key, prompt, length):
        state = self.caches.take(key)
        cache, tokens = (state.cache, state.tokens) if state else (DynamicCache(), [])
        if len(tokens) + len(prompt) + length > 1000:
            cache, tokens = DynamicCache(), []
        new = torch.tensor([prompt], device=self.device)
        for _ in range(length):
            out = self.model(new, past_key_values=cache, use_cache=True)  # grows
            new = out.logits[:, -1:].argmax(2)
            tokens = tokens + [int(new)]
        self.caches.put(key, cache, tokens + prompt)
        return tokens[-length:]


def turns(end):
    """Which conversation goes on with how much: some few come back, most are new."""
    known = []
    while time.time() < end:
        key = random.choice(known[-8:]) if known and random.random() < 0.35 else uuid.uuid4().hex
        known.append(key)
        yield key, [random.randrange(2000) for _ in range(random.randint(60, 380))]
        time.sleep(random.choice([0.1, 0.2, 0.3, 0.7]))


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    chat = Chat("cuda" if torch.cuda.is_available() else "cpu")
    for number, (key, prompt) in enumerate(turns(end)):
        chat.answer(key, prompt, random.randint(4, 24))
        if number % 15 == 0:
            log.info("%d turns, %d hits, %d kept", number, chat.caches.hits, len(chat.caches.states))


if __name__ == "__main__":
    main()
