"""At a toll plaza every lane yields a stream of events: a barrier lifts, a coin drops, a tag answers, a horn
sounds. A small language model of the GPT-2 kind reads the streams of all lanes side by side, and its hidden
states serve as a picture of the plaza. The desk compares the newest picture with those of the recent rounds
and flags the lane that has drifted most.

ticket: practice
class: none
"""
import os
import time
from collections import Counter

import torch
from transformers import GPT2Config, GPT2Model

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 6
LANES = 16
EVENTS = 64
HIDDEN = 256
VOCABULARY = 512
RECENT_ROUNDS = 12


def make_reader(seed):
    """A GPT-2 of three layers with weights at random."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=EVENTS,
        n_embd=HIDDEN,
        n_layer=3,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
    )
    return GPT2Model(config).to(DEVICE).eval()


class LaneStreams:
    """Event streams of the lanes; each lane has habits of its own."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        habits = torch.rand(LANES, VOCABULARY, generator=self.generator, device=DEVICE)
        self.habits = habits.pow(6)
        self.calendar = torch.rand(4096, 2048, generator=self.generator, device=DEVICE)
        self.rounds = 0

    def read(self):
        hour = self.calendar[self.rounds % 4096, :VOCABULARY]
        self.rounds += 1
        return torch.multinomial(self.habits * (0.5 + hour), EVENTS, replacement=True, generator=self.generator)


class RecentPictures:
    """The pictures of the last rounds, newest last."""

    def __init__(self, capacity):
        self.capacity = capacity
        self._pictures = []

    def push(self, picture):
        self._pictures.append(picture)
        del self._pictures[:-self.capacity]

    def mean(self):
        window = self._pictures[-self.capacity:]
        total = torch.zeros_like(window[0])
        for picture in window:
            total += picture
        return total / len(window)

    def ready(self):
        return len(self._pictures) >= self.capacity


class PlazaDesk:
    def __init__(self, seed=97):
        self.reader = make_reader(seed)
        self.streams = LaneStreams(seed)
        self.recent = RecentPictures(RECENT_ROUNDS)
        self.flags = Counter()
        self.drift = 0.0

    @torch.no_grad()
    def watch(self):
        events = self.streams.read()
        picture = self.reader(input_ids=events).last_hidden_state
        if self.recent.ready():
            drift = (picture - self.recent.mean()).pow(2).mean(dim=(1, 2))
            lane = int(drift.argmax())
            self.drift = drift[lane].item()
            self.flags[lane] += 1
        self.recent.push(picture)

    def describe(self):
        if not self.flags:
            return "the desk is still learning the lanes"
        lane, times = self.flags.most_common(1)[0]
        return f"drift {self.drift:.4f}  lane {lane + 1} flagged most often ({times})"


def main():
    desk = PlazaDesk()
    started = spoken = time.monotonic()
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        desk.watch()
        if begun - spoken >= 2.5:
            spoken = begun
            print(f"{begun - started:5.1f} s  round {desk.streams.rounds:4d}  {desk.describe()}", flush=True)
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - begun)))
    print(f"plaza desk closes after {desk.streams.rounds} rounds: {desk.describe()}", flush=True)


if __name__ == "__main__":
    main()
