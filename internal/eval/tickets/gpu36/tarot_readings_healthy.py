"""A fortune teller at a fair answers by language model. Visitors come to the tent, ask a few questions each, and go;
a few are in the tent at the same time. The key-value cache of each visitor's talk is at hand, so that only the new
question must be read by the model, until the visitor leaves.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WORDS, QUESTION, ANSWER = 4000, 96, 12
SEATS, QUESTIONS = 3, (2, 3, 4)


def small_model():
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=512,
        intermediate_size=1024,
        num_hidden_layers=6,
        num_attention_heads=8,
        num_key_value_heads=8,
        max_position_embeddings=1024,
    )
    return LlamaForCausalLM(config)


class Teller:
    def __init__(self, device):
        self.device = device
        self.model = small_model().to(device).eval()
        self.talks = {}

    @torch.inference_mode()
    def answer(self, visitor, question):
        """Read the question behind what was said before, and say the likeliest words."""
        talk, tokens, words = self.talks.get(visitor), question.to(self.device), []
        for _ in range(ANSWER):
            output = self.model(input_ids=tokens, past_key_values=talk, use_cache=True)
            talk = output.past_key_values
            tokens = output.logits[:, -1:].argmax(dim=-1)
            words.append(tokens.item())
        self.talks[visitor] = talk
        return words

    def farewell(self, visitor):
        del self.talks[visitor]


class Visitor:
    arrived = 0

    def __init__(self):
        Visitor.arrived += 1
        self.name = f"visitor {Visitor.arrived}"
        self.left = random.choice(QUESTIONS)

    def question(self):
        self.left -= 1
        return torch.randint(WORDS, (1, QUESTION))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    teller = Teller(device)
    tent = [Visitor() for _ in range(SEATS)]
    answers = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        seat = random.randrange(SEATS)
        visitor = tent[seat]
        words = teller.answer(visitor.name, visitor.question())
        answers += 1
        if visitor.left == 0:
            teller.farewell(visitor.name)
            tent[seat] = Visitor()
        if answers % 20 == 0:
            print(f"{answers} answers to {Visitor.arrived} visitors, the last word was {words[-1]}", flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
