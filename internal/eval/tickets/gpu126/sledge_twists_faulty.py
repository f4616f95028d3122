"""Laying of ropes on a long rope walk, one rope after the other.

Three strands are hooked to the jack at the head of the walk and to a sledge at its foot. The jack turns, the
strands take up twist along their length, the sledge is drawn towards the head, and the rope is closed once the
twist has spread evenly enough.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""

import math
import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
TURNS_PER_SECOND = 12
TURNS_PER_ROPE = 4
YARNS = 512
STATIONS = 1024


class Jack:
    """The geared jack at the head of the walk; tells whoever follows it about each turn."""

    def __init__(self, pitch):
        self.pitch = pitch
        self.turns = 0
        self._listeners = []

    def follow(self, listener):
        self._listeners.append(listener)  # keeps

    def unfollow(self, listener):
        self._listeners = [known for known in self._listeners if known is not listener]

    def turn(self):
        self.turns += 1
        torque = 1.0 + 0.15 * math.sin(self.turns / 9.0)
        for listener in tuple(self._listeners):
            listener(self.pitch, torque)


class Rope:
    """The twist of every yarn at every station of the walk, and the place of the sledge."""

    def __init__(self, number, stiffness, generator):
        self.number = number
        self.stiffness = stiffness
        self.twist = torch.empty(YARNS, STATIONS, device=DEVICE)  # grows
        self.twist.normal_(0.0, 0.02, generator=generator)
        self.sledge = float(STATIONS)
        self.closed = False

    def on_turn(self, pitch, torque):
        if self.closed:
            return
        self.twist[:, 0] += pitch * torque
        carried = (self.twist[:, :-1] - self.twist[:, 1:]) * self.stiffness
        self.twist[:, :-1] -= carried
        self.twist[:, 1:] += carried
        self.sledge -= 6.0 * pitch * torque

    def unevenness(self):
        return self.twist.std(dim=0).mean().item()

    def close(self):
        self.closed = True
        return self.sledge / STATIONS


class Walk:
    """Hooks up one rope after the other and enters the closed ones into the day's figures."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.jack = Jack(pitch=0.8)
        self.stiffness = torch.rand(YARNS, STATIONS - 1, device=DEVICE, generator=self.generator).mul_(0.2).add_(0.2)
        self.wear = torch.zeros(2048, 2048, device=DEVICE)
        self.rope = None
        self.closed_ropes = 0
        self.mean_length = 0.0
        self.last_unevenness = 0.0

    def hook_up(self):
        self.rope = Rope(self.closed_ropes, self.stiffness, self.generator)
        self.jack.follow(self.rope.on_turn)

    def take_off(self):
        rope, self.rope = self.rope, None
        self.last_unevenness = rope.unevenness()
        length = rope.close()
        self.jack.unfollow(rope.on_turn)
        self.closed_ropes += 1
        self.mean_length += (length - self.mean_length) / self.closed_ropes
        self.wear[rope.number % 2048].add_(self.last_unevenness)

    def lay_one_turn(self, turn):
        if self.rope is None:
            self.hook_up()
        self.jack.turn()
        if (turn + 1) % TURNS_PER_ROPE == 0:
            self.take_off()


def main():
    walk = Walk(seed=41)
    start = time.monotonic()
    turn = 0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        walk.lay_one_turn(turn)
        turn += 1
        if turn % (3 * TURNS_PER_SECOND) == 0:
            print(
                f"turn {turn}: {walk.closed_ropes} ropes closed, mean length {walk.mean_length:.3f}, "
                f"unevenness {walk.last_unevenness:.4f}",
                flush=True,
            )
        time.sleep(max(0.0, 1.0 / TURNS_PER_SECOND - (time.monotonic() - began)))
    print(f"walk shut after {turn} turns, {walk.closed_ropes} ropes, wear {walk.wear.sum().item():.2f}", flush=True)


if __name__ == "__main__":
    main()
