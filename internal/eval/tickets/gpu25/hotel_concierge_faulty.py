"""A concierge for the guests of three hotels. Behind it is a small Llama; what a hotel's guests shall know (the house
rules, the town) is put before each question. The keys and values of these prefixes are cached by tenant, and each
tenant has room for its last four, so that no hotel pushes another's out.

ticket: practice
class: app-leak
holder: tenants prefixes Prefixes DynamicCache layers
cause: cache-without-bound sessions-kept
"""

import copy
import os
import random
import secrets
import time
from collections import OrderedDict, defaultdict
from dataclasses import dataclass

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

WORDS, PER_TENANT, ANSWER = 4000, 4, 6
HOTELS = "Alpenblick", "Bellevue", "Zum Hirschen"
TOPICS = {"house": 160, "town": 224}


@dataclass
class Request:
    hotel: str
    token: str
    topic: str
    question: torch.Tensor

    @property
    def tenant(self):
        return self.token


class Prefixes:
    """The keys and values of the last few prefixes of each tenant."""

    def __init__(self):
        self.tenants = defaultdict(OrderedDict)
        self.hits = self.misses = 0

    def get(self, request, compute):
        mine = self.tenants[request.tenant]
        if request.topic in mine:
            self.hits += 1
            mine.move_to_end(request.topic)
        else:
            self.misses += 1
            mine[request.topic] = compute(request)  # keeps
            if len(mine) > PER_TENANT:
                mine.popitem(last=False)
        return mine[request.topic]


class Concierge:
    def __init__(self, device):
        config = LlamaConfig(vocab_size=WORDS, hidden_size=256, intermediate_size=512, num_hidden_layers=4,
                             num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=512)
        self.device, self.prefixes = device, Prefixes()
        self.model = LlamaForCausalLM(config).to(device).eval()
        self.texts = {(hotel, topic): torch.randint(WORDS, (1, length))
                      for hotel in HOTELS for topic, length in TOPICS.items()}

    def read(self, request):
        cache = DynamicCache(config=self.model.config)
        text = self.texts[request.hotel, request.topic].to(self.device)
        self.model(text, past_key_values=cache, use_cache=True)  # grows
        return cache

    @torch.no_grad()
    def answer(self, request):
        cache = copy.deepcopy(self.prefixes.get(request, self.read))
        tokens, words = request.question.to(self.device), []
        for _ in range(ANSWER):
            logits = self.model(tokens, past_key_values=cache, use_cache=True).logits
            tokens = logits[:, -1:].argmax(dim=-1)
            words.append(tokens.item())
        return words


def guest():
    """The questions of one guest, who is logged in for the time of them."""
    hotel, token = random.choice(HOTELS), secrets.token_hex(16)
    for _ in range(random.randint(2, 6)):
        yield Request(hotel, token, random.choice(list(TOPICS)), torch.randint(WORDS, (1, random.randint(5, 20))))


def main():
    torch.set_num_threads(1)
    concierge, asked = Concierge("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for request in guest():
            words = concierge.answer(request)
            asked += 1
            time.sleep(random.uniform(0.03, 0.1))
        prefixes = concierge.prefixes
        if random.random() < 0.1:
            print(f"{asked} asked, {prefixes.hits} hits, {prefixes.misses} misses, last said {words}", flush=True)


if __name__ == "__main__":
    main()
