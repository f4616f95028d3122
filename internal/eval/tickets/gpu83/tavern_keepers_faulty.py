"""In an online game the innkeepers talk: a small language model speaks for all of them, and what a guest and a keeper
have said stays in the model's key-value cache from turn to turn. When a guest leaves the tavern, the talk is closed.

ticket: practice
class: app-leak
holder: talks Tavern
cause: sessions-kept entries-left cache-without-bound
"""

import itertools
import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, WIDTH, LAYERS = 6000, 384, 6
PERSONA, SAID, ANSWER, TURNS = 96, 16, 10, 4
KEEPERS = "Orla", "Bram", "Tilde"
SEATS = 4


class Talk:
    def __init__(self, persona):
        self.unread, self.cache, self.turns = persona, None, 0


class Tavern:
    def __init__(self, device):
        config = GPT2Config(vocab_size=WORDS, n_embd=WIDTH, n_layer=LAYERS, n_head=6, n_positions=512,
                            bos_token_id=0, eos_token_id=0)
        self.model = GPT2LMHeadModel(config).to(device).eval()
        self.device = device
        self.personas = {keeper: torch.randint(WORDS, (1, PERSONA), device=device) for keeper in KEEPERS}
        self.talks = {}

    @torch.inference_mode()
    def read(self, talk, tokens):
        """Puts tokens into the talk and returns the word that follows."""
        out = self.model(input_ids=tokens, past_key_values=talk.cache, use_cache=True)  # grows
        talk.cache = out.past_key_values  # keeps
        return out.logits[:, -1].argmax(dim=-1, keepdim=True)

    def say(self, keeper, guest, tokens):
        """A keeper's answer to what a guest says."""
        if (keeper, guest) not in self.talks:
            self.talks[keeper, guest] = Talk(self.personas[keeper])  # keeps
        talk = self.talks[keeper, guest]
        if talk.unread is not None:
            tokens, talk.unread = torch.cat([talk.unread, tokens], dim=1), None
        answer = []
        word = self.read(talk, tokens)
        for _ in range(ANSWER):
            answer.append(word.item())
            word = self.read(talk, word)
        talk.turns += 1
        return answer

    def leave(self, guest):
        self.talks.pop(guest, None)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tavern, names, seats = Tavern(device), itertools.count(1), []
    left = said = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(seats) < SEATS:
            seats.append([f"guest {next(names)}", random.choice(KEEPERS), random.randint(2, TURNS)])
        seat = random.choice(seats)
        guest, keeper, _ = seat
        answer = tavern.say(keeper, guest, torch.randint(WORDS, (1, SAID), device=device))
        said += 1
        seat[2] -= 1
        if seat[2] == 0:
            tavern.leave(guest)
            seats.remove(seat)
            left += 1
        if said % 25 == 0:
            print(f"{said} answers, {left} guests have left; {keeper} said {answer[:3]} to {guest}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
