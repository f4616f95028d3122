"""The talking counter of an urban beekeepers' market.

Visitors talk with a small language model about honey: what they like, what goes with cheese, which roof it comes from.
A visit is a handful of turns, and the counter follows each with the attention states of its model, so that a turn
costs only its own words. It ends at the till, or the visitor strolls on to the next stall.

ticket: practice
class: app-leak
holder: _visits
cause: sessions-kept
"""
import os
import random
import time
from dataclasses import dataclass

import torch
from transformers import LlamaConfig, LlamaForCausalLM

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
VOCABULARY = 2048
GREETING_WORDS = 192
TURN_WORDS = 16
TURNS = 4
VISITORS_AT_ONCE = 6
ROUNDS_A_SECOND = 8


def small_model():
    """A model that fits on the counter, with fresh weights."""
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=384, intermediate_size=768, num_hidden_layers=4,
        num_attention_heads=6, num_key_value_heads=6, max_position_embeddings=512,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )
    return LlamaForCausalLM(config).to(DEVICE).eval()


@dataclass
class Visit:
    """One visitor's talk with the counter."""

    number: int
    buys: bool
    states: object = None
    turns: int = 0
    last_word: int = 1


class Counter:
    """Greets visitors, answers their turns and rings up what they buy."""

    def __init__(self, model, seed):
        self.model = model
        self.generator = torch.Generator().manual_seed(seed)
        self._visits = {}
        self.greeted = self.sold = self.strolled_on = 0

    def words(self, count):
        return torch.randint(3, VOCABULARY, (1, count), generator=self.generator).to(DEVICE)

    @torch.no_grad()
    def say(self, visit, words):
        answer = self.model(input_ids=words, past_key_values=visit.states, use_cache=True)  # grows
        visit.states = answer.past_key_values
        visit.last_word = int(answer.logits[0, -1].argmax())

    def greet(self, buys):
        self.greeted += 1
        visit = Visit(self.greeted, buys)
        self._visits[visit.number] = visit  # keeps
        self.say(visit, self.words(GREETING_WORDS))
        return visit.number

    def turn(self, number):
        visit = self._visits[number]
        self.say(visit, self.words(TURN_WORDS))
        visit.turns += 1
        return visit.turns >= TURNS

    def ring_up(self, number):
        visit = self._visits.pop(number)
        self.sold += 1
        return 4 + visit.last_word % 9

    def wave_off(self, number):
        visit = self._visits[number]
        self.strolled_on += 1
        return visit.last_word

    def buys(self, number):
        return self._visits[number].buys


class Market:
    """The crowd at the counter: a few at once, and one leaves as the next comes up."""

    def __init__(self, counter, seed):
        self.counter = counter
        self.dice = random.Random(seed)
        self.crowd = []
        self.takings = 0
        self.rounds = 0

    def round(self):
        if len(self.crowd) < VISITORS_AT_ONCE:
            self.crowd.append(self.counter.greet(buys=self.dice.random() < 0.3))
        for _ in range(min(3, len(self.crowd))):
            number = self.crowd.pop(0)
            if not self.counter.turn(number):
                self.crowd.append(number)
            elif self.counter.buys(number):
                self.takings += self.counter.ring_up(number)
            else:
                self.counter.wave_off(number)
        self.rounds += 1


def main():
    torch.set_num_threads(1)
    torch.manual_seed(90)
    market = Market(Counter(small_model(), seed=91), seed=92)
    counter = market.counter
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    while time.monotonic() < end:
        began = time.monotonic()
        market.round()
        if time.monotonic() >= report_at:
            print(f"round {market.rounds}: {counter.greeted} greeted, {counter.sold} bought, "
                  f"{counter.strolled_on} strolled on, {market.takings} euros", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - began)))
    print(f"market closed: {counter.sold} of {counter.greeted} visitors bought, {market.takings} euros", flush=True)


if __name__ == "__main__":
    main()
