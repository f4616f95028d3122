"""The rehearsal desk of a marionette theatre.

A scene is a table of string lengths: puppets by strings by moments of the scene. The puppeteer's assistant tries
small changes to one passage after another, judges each by how smoothly the strings run, and takes a change back if
a string would slacken. At the end of an act the director signs the scene off and the next act is rehearsed on top
of it.

ticket: practice
class: app-leak
holder: undo
cause: closure-kept
"""
import math
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 12
PUPPETS, STRINGS, MOMENTS = 64, 16, 128
ACT_ROUNDS = 24
REFUSED_EVERY = 6


class Scene:
    """String lengths in metres, with the gestures from which passages are made."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        beat = torch.linspace(0.0, 2.0 * math.pi, MOMENTS, device=DEVICE)
        phase = torch.rand(PUPPETS, STRINGS, 1, device=DEVICE, generator=self.generator) * 2.0 * math.pi
        self.lengths = 1.8 + 0.2 * torch.sin(beat + phase)
        self.gestures = torch.stack([torch.sin(beat * k) * torch.hann_window(MOMENTS, device=DEVICE)
                                     for k in range(1, 9)])

    def gesture(self, strength):
        mix = torch.randn(PUPPETS, STRINGS, 8, device=DEVICE, generator=self.generator)
        return strength * (mix @ self.gestures)

    def jerk(self):
        return float(torch.diff(self.lengths, n=3, dim=-1).abs().mean())

    def slackest(self):
        return float(self.lengths.max())


class RehearsalDesk:
    """Applies changes to a scene, each with the step that would take it back."""

    def __init__(self, scene):
        self.scene = scene
        self._undo = []
        self._signed = 0
        self.applied = 0
        self.refused = 0

    def apply(self, change):
        scene = self.scene
        before = scene.lengths.clone()  # grows

        def restore():
            scene.lengths = before

        scene.lengths = (before + change).clamp(0.6, 3.0)
        self._undo.append(restore)  # keeps
        self.applied += 1

    def take_back(self):
        """Take back the latest change that the director has not signed."""
        if len(self._undo) > self._signed:
            self._undo.pop()()
            self.refused += 1

    def unsigned(self):
        return len(self._undo) - self._signed

    def sign_off(self):
        """From here on the scene as it stands is the one to start from."""
        self._signed = len(self._undo)


class Assistant:
    """Decides how bold the next change is and whether it may stay."""

    def __init__(self, scene):
        self.scene = scene
        self.boldness = 0.01
        self.best = scene.jerk()

    def propose(self):
        return self.scene.gesture(self.boldness) + 0.02 * (1.8 - self.scene.lengths)

    def judge(self):
        jerk = self.scene.jerk()
        self.best = min(self.best, jerk)
        self.boldness = min(0.02, max(0.002, self.boldness * (1.05 if jerk <= 1.1 * self.best else 0.9)))
        return jerk


def rehearse(desk, assistant, number):
    desk.apply(assistant.propose())
    jerk = assistant.judge()
    if number % REFUSED_EVERY == REFUSED_EVERY - 1 or desk.scene.slackest() > 2.9:
        desk.take_back()
    return jerk


def main():
    torch.set_num_threads(1)
    scene = Scene(23)
    desk = RehearsalDesk(scene)
    assistant = Assistant(scene)
    start = time.monotonic()
    rounds, acts = 0, 0
    while time.monotonic() - start < SECONDS:
        jerk = rehearse(desk, assistant, rounds)
        rounds += 1
        if rounds % ACT_ROUNDS == 0:
            changes = desk.unsigned()
            desk.sign_off()
            acts += 1
            if acts % 2 == 0:
                print(f"act {acts}: {changes} changes signed, {desk.refused} refused, jerk {jerk:.5f}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"rehearsal over: {acts} acts, {desk.applied} changes tried, slackest {scene.slackest():.3f} m", flush=True)


if __name__ == "__main__":
    main()
