"""A guide for the visitors of a castle. The house rules, a visitor's interests and the text about a room stand before
each question, so their keys and values are computed once and copied for each question that the visitor asks there.

ticket: practice
class: none
"""

import copy
import os
import random
import time

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

WORDS, ROOMS, ANSWER, PREFIXES = 6_000, 9, 6, 8
RULES, INTERESTS, ROOM, QUESTION = 80, 24, 200, 12


def text(length):
    return torch.randint(WORDS, (length,))


class Guide:
    def __init__(self, device):
        config = LlamaConfig(
            vocab_size=WORDS, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=4, max_position_embeddings=1024,
        )
        self.model, self.device = LlamaForCausalLM(config).to(device).eval(), device
        self.rules = text(RULES)
        self.rooms = [text(ROOM) for _ in range(ROOMS)]
        self.prefixes, self.hits = {}, 0

    def prefix(self, interests, room):
        """The keys and values of all that stands before the question."""
        words = torch.cat([self.rules, interests, self.rooms[room]])
        key = tuple(words.tolist())
        if key in self.prefixes:
            self.hits += 1
            return self.prefixes[key]
        cache = DynamicCache(config=self.model.config)
        self.model(words[None].to(self.device), past_key_values=cache, use_cache=True, logits_to_keep=1)
        self.prefixes[key] = cache
        if len(self.prefixes) > PREFIXES:
            del self.prefixes[next(iter(self.prefixes))]
        return cache

    @torch.no_grad()
    def answer(self, interests, room, question):
        cache = copy.deepcopy(self.prefix(interests, room))
        words, answer = question[None].to(self.device), []
        for _ in range(ANSWER):
            output = self.model(words, past_key_values=cache, use_cache=True, logits_to_keep=1)
            words = output.logits[:, -1].argmax(dim=-1, keepdim=True)
            answer.append(words.item())
        return answer


class Visitor:
    """Has interests of their own, walks through three rooms and asks twice in each."""

    def __init__(self):
        self.interests = text(INTERESTS)
        self.way = [room for room in random.sample(range(ROOMS), 3) for _ in range(2)]

    def ask(self):
        return self.interests, self.way.pop(), text(QUESTION)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(9)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    guide, visitors, questions = Guide(device), [Visitor() for _ in range(3)], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        place = random.randrange(len(visitors))
        answer = guide.answer(*visitors[place].ask())
        if not visitors[place].way:
            visitors[place] = Visitor()
        questions += 1
        if questions % 20 == 0:
            print(f"{questions} questions, {guide.hits} prefixes found again, last answer {answer}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
