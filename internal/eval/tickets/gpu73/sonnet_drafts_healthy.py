"""Sonnets are written by speculative decoding. A model of one layer drafts a few words ahead, the poet, a model of
eight layers, reads them at once, and each is accepted or not by the ratio of the two probabilities. Before a draft is
read the keys and values are copied, so that the poet can go back to them if it does not accept the whole draft.

ticket: practice
class: none
"""

import copy
import os
import random
import time

import torch
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

WORDS, WIDTH, LONGEST = 3_000, 384, 160
AHEAD, WINDOW = 4, 16


def make(layers, device):
    config = GPT2Config(
        vocab_size=WORDS, n_positions=256, n_embd=WIDTH, n_layer=layers, n_head=6, bos_token_id=0, eos_token_id=0
    )
    return GPT2LMHeadModel(config).to(device).eval()


class Poet:
    def __init__(self, device):
        self.device = device
        self.model, self.drafter = make(8, device), make(1, device)
        self.undo = []
        self.accepted = self.drafted = 0

    @torch.no_grad()
    def begin(self):
        """A new sonnet, of which the first words are given."""
        self.cache = DynamicCache()
        self.tokens = torch.randint(WORDS, (1, 12), device=self.device)
        self.last = self.read(self.tokens)[:, -1]

    def read(self, tokens):
        """The probabilities of the word after each of the tokens."""
        logits = self.model(tokens, past_key_values=self.cache, use_cache=True).logits
        return logits.softmax(-1)

    def draft(self):
        """Some words ahead, and the drafter's probabilities of each."""
        tokens, probs = self.tokens, []
        for _ in range(AHEAD):
            logits = self.drafter(tokens[:, -WINDOW:], use_cache=False).logits[:, -1]
            probs.append(logits.softmax(-1))
            tokens = torch.cat([tokens, torch.multinomial(probs[-1], 1)], dim=1)
        return tokens[:, -AHEAD:], probs

    @torch.no_grad()
    def advance(self):
        words, guesses = self.draft()
        self.undo.append(copy.deepcopy(self.cache))
        after = self.read(words)
        wanted = torch.cat([self.last[:, None], after], dim=1)
        count = 0
        while count < AHEAD:
            word = words[0, count]
            ratio = (wanted[0, count, word] / guesses[count][0, word]).item()
            if random.random() > ratio:
                break
            count += 1
        word = torch.multinomial(wanted[:, count], 1)
        before = self.undo.pop()
        if count < AHEAD:
            self.cache = before
            if count:
                self.read(words[:, :count])
        self.tokens = torch.cat([self.tokens, words[:, :count], word], dim=1)
        self.last = self.read(word)[:, -1]
        self.accepted += count
        self.drafted += AHEAD


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    poet, sonnets = Poet(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        poet.begin()
        while poet.tokens.shape[1] < LONGEST and time.time() < end:
            poet.advance()
            time.sleep(random.uniform(0.04, 0.16))
        sonnets += 1
        print(f"{sonnets} sonnets, {poet.accepted / max(poet.drafted, 1):.0%} of the drafts accepted", flush=True)


if __name__ == "__main__":
    main()
