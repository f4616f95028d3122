"""Delivery of lines in a radio play, with a language model as the actor.

A small language model reads the lines of a scene. The director gives each scene a mood, a bias for every
place of the text that is added in a middle layer, rising or falling towards the end of the scene. How sure the
model is of each word decides on pauses and stress, and the clearest reader of the scene gets the long lines.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SCENES_PER_SECOND = 4
PLACES = 512
WIDTH = 768
WORDS = 4_000
LINES_PER_SCENE = 2
MOODS = ("calm", "afraid", "merry", "stern")


@dataclass(frozen=True)
class Scene:
    number: int
    mood: str
    tension: float
    lines: torch.Tensor


@dataclass(frozen=True)
class Delivery:
    pauses: int
    stress: float


def build_actor():
    config = GPT2Config(
        vocab_size=WORDS, n_positions=PLACES, n_embd=WIDTH, n_layer=3, n_head=12,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=1, use_cache=False,
    )
    return GPT2LMHeadModel(config).to(DEVICE).eval()


class ScriptDesk:
    """Hands out the scenes of the play in order."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._number = 0

    def next_scene(self):
        self._number += 1
        length = PLACES // 2
        words = self._rng.zipf(1.3, size=(LINES_PER_SCENE, length)) % (WORDS - 2) + 2
        mood = MOODS[int(self._rng.integers(len(MOODS)))]
        tension = float(self._rng.uniform(-1.0, 1.0))
        return Scene(self._number, mood, tension, torch.from_numpy(words.astype(np.int64)).to(DEVICE))


class Director:
    """Gives the mood of a scene to the actor and listens to the reading."""

    def __init__(self, actor, seed):
        self.actor = actor
        self._layer = actor.transformer.h[1].mlp
        generator = torch.Generator().manual_seed(seed)
        self._moods = {mood: torch.randn(WIDTH, generator=generator).to(DEVICE) for mood in MOODS}
        self._ramp = torch.linspace(0.0, 1.0, PLACES, device=DEVICE)[:, None]
        self.read = 0

    def mood_bias(self, scene):
        rise = 0.01 * (1.0 + scene.tension * self._ramp)
        return rise * self._moods[scene.mood]

    def set_mood(self, scene):
        bias = self.mood_bias(scene)

        def colour(module, inputs, output):
            return output + bias[:output.shape[-2]]

        return self._layer.register_forward_hook(colour)

    @torch.no_grad()
    def rehearse(self, scene):
        handle = self.set_mood(scene)
        try:
            logits = self.actor(input_ids=scene.lines).logits
        finally:
            handle.remove()
        self.read += scene.lines.numel()
        return self.listen(logits.float(), scene.lines)

    def listen(self, logits, lines):
        chances = torch.log_softmax(logits[:, :-1], dim=-1)
        surprise = -chances.gather(-1, lines[:, 1:, None]).squeeze(-1)
        limit = surprise.mean() + 1.5 * surprise.std()
        return Delivery(int((surprise > limit).sum()), float(surprise.max()))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1955)
    desk = ScriptDesk(seed=1956)
    director = Director(build_actor(), seed=1957)
    started = time.monotonic()
    said = started
    scenes = 0
    while time.monotonic() - started < SECONDS:
        scene = desk.next_scene()
        delivery = director.rehearse(scene)
        scenes += 1
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(f"scene {scene.number} ({scene.mood}): {delivery.pauses} pauses, "
                  f"stress {delivery.stress:.2f}", flush=True)
        time.sleep(1.0 / SCENES_PER_SECOND)
    print(f"play rehearsed: {scenes} scenes, {director.read} words", flush=True)


if __name__ == "__main__":
    main()
