"""Trains a watch on the breath of pearl divers.

Between two dives a diver breathes at the surface, and a belt records the rise of the chest. A small network learns to
tell a diver who is ready from one who should rest. For every lesson a study looks at how the inner layers answer to
one reference group of breaths, and the safety officer gets the distance between the lesson and the reference.

    ticket: practice
    class: none
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LESSONS_PER_SECOND = 5
BREATHS, SAMPLES, CHEST = 64, 256, 128
REFERENCE = (1024, 256)


class BreathNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.belt = nn.Linear(SAMPLES, CHEST)
        self.rhythm = nn.Linear(CHEST, CHEST)
        self.ready = nn.Linear(CHEST, 2)

    def forward(self, traces):
        chest = torch.relu(self.belt(traces))
        return self.ready(torch.relu(self.rhythm(chest)))


class Belt:
    """Makes chest traces: slow and deep for those who are ready, fast and shallow for the others."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.time = torch.linspace(0.0, 30.0, SAMPLES, device=DEVICE)

    def traces(self):
        labels = torch.randint(0, 2, (BREATHS,), generator=self.generator, device=DEVICE)
        pace = 2.4 - 1.2 * labels[:, None] + 0.2 * torch.randn(BREATHS, 1, generator=self.generator, device=DEVICE)
        depth = 0.6 + 0.5 * labels[:, None]
        noise = 0.3 * torch.randn(BREATHS, SAMPLES, generator=self.generator, device=DEVICE)
        return depth * torch.sin(pace * self.time) + noise, labels

    def reference(self):
        return torch.randn(REFERENCE, generator=self.generator, device=DEVICE)


class Study:
    """Looks at the answers of some layers during one lesson."""

    def __init__(self, number, reference):
        self.number = number
        self.reference = reference
        self.open = True
        self.distances = []
        self._handles = []

    def attach(self, layers):
        for layer in layers:
            self._handles.append(layer.register_forward_hook(self._look))

    def _look(self, layer, inputs, output):
        if not self.open:
            return
        rows = self.reference[:BREATHS, :CHEST]
        self.distances.append((output.detach() - rows).norm())

    def close(self):
        self.open = False
        for handle in self._handles:
            handle.remove()
        return [float(distance) for distance in self.distances]


class Trainer:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.net = BreathNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss()
        self.lessons = 0
        self.right = 0.0

    def lesson(self, traces, labels):
        self.optimizer.zero_grad()
        answers = self.net(traces)
        loss = self.criterion(answers, labels)
        loss.backward()
        self.optimizer.step()
        self.lessons += 1
        share = float((answers.detach().argmax(dim=1) == labels).float().mean())
        self.right += 0.1 * (share - self.right)
        return float(loss)


class SafetyOfficer:
    """Keeps a running mean of the distances for each layer."""

    def __init__(self, layers):
        self.means = [0.0] * layers

    def note(self, distances):
        for index, distance in enumerate(distances):
            self.means[index] += 0.05 * (distance - self.means[index])

    def line(self):
        return ", ".join(f"{mean:.2f}" for mean in self.means)


def train(seconds):
    belt = Belt(seed=2201)
    trainer = Trainer(seed=2202)
    layers = [trainer.net.belt, trainer.net.rhythm]
    officer = SafetyOfficer(len(layers))
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        study = Study(trainer.lessons, belt.reference())
        study.attach(layers)
        loss = trainer.lesson(*belt.traces())
        officer.note(study.close())
        if trainer.lessons % (3 * LESSONS_PER_SECOND) == 0:
            print(f"lesson {trainer.lessons}: loss {loss:.4f}, right {trainer.right:.2f}, "
                  f"distances {officer.line()}", flush=True)
        time.sleep(max(0.0, started + trainer.lessons / LESSONS_PER_SECOND - time.monotonic()))
    return trainer, officer


def main():
    torch.set_num_threads(1)
    trainer, officer = train(float(os.environ.get("SECONDS", "120")))
    print(f"{trainer.lessons} lessons given, right {trainer.right:.2f}, distances {officer.line()}", flush=True)


if __name__ == "__main__":
    main()
