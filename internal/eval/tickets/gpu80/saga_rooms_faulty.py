"""Rooms in which people tell a saga together with a small GPT-2. In each room, people and the model take turns; who
does not like what the model has said may have it told again, for which the state of the room before that turn is put
by. When a chapter fills the context, the room begins the next one.

ticket: practice
class: app-leak
holder: retellings Saga layers
cause: snapshots-kept entries-left cache-without-bound
"""

import copy
import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

ROOMS = "hall", "harbour", "forge", "byre"
WORDS, CONTEXT, REPLY = 4000, 160, 10


class Saga:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.states = dict.fromkeys(ROOMS)
        self.turns = dict.fromkeys(ROOMS, 0)
        self.retellings = {}

    def read(self, state, tokens):
        """The state after the tokens, and the scores of the word that comes next."""
        tokens = torch.tensor([tokens], device=self.device)
        output = self.model(input_ids=tokens, past_key_values=state, use_cache=True)
        return output.past_key_values, output.logits[0, -1]

    def reply(self, state, scores):
        words = []
        for _ in range(REPLY):
            word = torch.multinomial(torch.softmax(scores / 0.9, dim=-1), 1).item()
            words.append(word)
            state, scores = self.read(state, [word])
        return state, words

    def take_turn(self, room, said):
        """What the model says after somebody in the room has spoken."""
        state = self.states[room]
        if state is not None and state.get_seq_length() + len(said) + REPLY > CONTEXT:
            state = None
        state, scores = self.read(state, said)
        self.turns[room] += 1
        self.retellings[room, self.turns[room]] = copy.deepcopy(state), scores  # grows keeps
        self.states[room], words = self.reply(state, scores)
        return words

    def tell_again(self, room):
        """The last turn of the model in the room, told anew."""
        state, scores = self.retellings[room, self.turns[room]]
        self.states[room], words = self.reply(copy.deepcopy(state), scores)
        return words


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = GPT2Config(vocab_size=WORDS, n_positions=CONTEXT, n_embd=768, n_layer=8, n_head=12,
                        bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config).to(device).eval()
    saga, told, again = Saga(model, device), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        room = random.choice(ROOMS)
        if saga.turns[room] and random.random() < 0.2:
            words = saga.tell_again(room)
            again += 1
        else:
            said = [random.randrange(WORDS) for _ in range(random.randint(15, 45))]
            words = saga.take_turn(room, said)
            told += 1
        if (told + again) % 15 == 0:
            print(f"{told} turns, {again} told again, in the {room}: {words[:4]} ...", flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
