"""A prompter for an improvised theatre evening.

Directors ask for the next lines of a scene: a small language model writes four variants of each, of a length
that the scene needs. Several scenes are written in turns, a few tokens each, so that a short one does not have
to wait for a long one; the attention states of a scene stay with it between its turns.

ticket: practice
class: app-leak
holder: table past
cause: entries-left
"""
import os
import random
import time
from collections import deque
from dataclasses import dataclass, field

import torch
from transformers import GPT2Config, GPT2LMHeadModel

VOCABULARY = 2048
VARIANTS = 4
STRIDE = 8
TOGETHER = 3
TURNS_A_SECOND = 5
ROLES = ["duke", "nurse", "ghost", "miller", "widow", "captain"]


@dataclass
class Scene:
    number: int
    role: str
    length: int
    tokens: torch.Tensor
    past: object = None
    lines: list = field(default_factory=list)
    done: bool = False

    @property
    def written(self):
        return len(self.lines)


class Prompter:
    def __init__(self, device):
        config = GPT2Config(
            vocab_size=VOCABULARY, n_positions=320, n_embd=512, n_layer=6, n_head=8,
            bos_token_id=0, eos_token_id=0)
        self.device = device
        self.model = GPT2LMHeadModel(config).to(device).eval()
        self.table = {}
        self.opened = 0

    def open_scene(self, role, length):
        self.opened += 1
        opening = torch.randint(1, VOCABULARY, (VARIANTS, 12), device=self.device)
        self.table[self.opened] = Scene(self.opened, role, length, opening)  # keeps

    def waiting(self):
        return [scene for scene in self.table.values() if not scene.done]

    def write(self, scene):
        """One token more for each variant of the scene."""
        out = self.model(input_ids=scene.tokens, past_key_values=scene.past, use_cache=True)  # grows
        scene.past = out.past_key_values  # keeps
        weights = torch.softmax(out.logits[:, -1].float() / 0.9, dim=-1)
        scene.tokens = torch.multinomial(weights, 1)
        scene.lines.append(scene.tokens.squeeze(1).tolist())

    def turn(self):
        """Every open scene gets its stride; returns those that have reached their length."""
        finished = []
        for scene in self.waiting():
            for _ in range(min(STRIDE, scene.length - scene.written)):
                self.write(scene)
            if scene.written >= scene.length:
                scene.done = True
                finished.append(scene.number)
        return finished

    def deliver(self, number):
        scene = self.table[number]
        return scene.role, list(zip(*scene.lines))


class Evening:
    """The director's side: asks for scenes, reads the variants and takes the liveliest of them."""

    def __init__(self, prompter, seed=23):
        self.prompter = prompter
        self.rng = random.Random(seed)
        self.taken = deque(maxlen=40)

    def ask(self):
        while len(self.prompter.waiting()) < TOGETHER:
            self.prompter.open_scene(self.rng.choice(ROLES), self.rng.randint(40, 200))

    def read(self, number):
        role, variants = self.prompter.deliver(number)
        liveliest = max(variants, key=lambda line: len(set(line)) / len(line))
        self.taken.append((role, len(liveliest), len(set(liveliest))))


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(23)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    evening = Evening(Prompter(device))
    turns, scenes = 0, 0
    while time.time() < end:
        started = time.time()
        evening.ask()
        for number in evening.prompter.turn():
            evening.read(number)
            scenes += 1
        turns += 1
        if turns % 15 == 0:
            role, length, different = evening.taken[-1] if evening.taken else ("nobody", 0, 0)
            print(f"turn {turns}: {scenes} scenes, last for the {role}: {length} tokens, {different} different",
                  flush=True)
        time.sleep(max(0.0, 1.0 / TURNS_A_SECOND - (time.time() - started)))


if __name__ == "__main__":
    main()
