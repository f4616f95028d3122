"""Route the trays of a post office's sorting hall on a conveyor whose speed changes.

Each tray that is put on the conveyor holds some hundreds of letters. A camera gives a feature vector for each
letter, an encoder turns them into marks, and the marks are compared with those of the delivery rounds to tell at
which gate the tray leaves. While it rides, the tray is looked at again at each post it passes, with its marks at
hand, and the belt's speed, which the foreman changes by the load, moves the time at which the tray is due at the gate.

ticket: practice
class: app-leak
holder: speed_watchers marks
cause: callbacks-left
"""
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

LETTERS = 384
FEATURES = 128
MARKS = 1024
ROUNDS = 60
GATES = 12


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, 512)
        self.second = nn.Linear(512, MARKS)

    def forward(self, letters):
        return F.normalize(self.second(torch.relu(self.first(letters))), dim=-1)


class Belt:
    def __init__(self):
        self.speed = 1.0
        self.speed_watchers = []

    def set_speed(self, speed):
        self.speed = speed
        for watcher in self.speed_watchers:
            watcher(speed)


class Tray:
    def __init__(self, number, marks, gate, belt):
        self.number = number
        self.marks = marks
        self.gate = gate
        self.way = 1.0 + 0.15 * gate
        self.seen = time.time()
        self.speed = belt.speed
        self.due = self.seen + self.way / self.speed
        self.looks = 0

    def retime(self, speed):
        now = time.time()
        self.way = max(0.0, self.way - (now - self.seen) * self.speed)
        self.seen = now
        self.speed = speed
        self.due = now + self.way / speed

    def look(self, letters):
        self.looks += 1
        return (self.marks[:letters.shape[0]] * letters).sum(dim=-1).mean()


class Hall:
    def __init__(self, device):
        self.device = device
        self.encoder = Encoder().to(device).eval()
        self.rounds = F.normalize(torch.randn(ROUNDS, MARKS, device=device), dim=-1)
        self.belt = Belt()
        self.riding = {}
        self.count = 0
        self.delivered = [0] * GATES

    def put_on(self, letters):
        self.count += 1
        marks = self.encoder(letters)  # grows
        nearest = (marks @ self.rounds.T).mean(dim=0).argmax().item()
        tray = Tray(self.count, marks, (nearest + self.count) % GATES, self.belt)
        self.belt.speed_watchers.append(tray.retime)  # keeps
        self.riding[tray.number] = tray

    def pass_post(self, letters):
        """One camera post looks at the trays under it; the mean of how much they look like what was put on."""
        if not self.riding:
            return 0.0
        trays = random.sample(list(self.riding.values()), min(4, len(self.riding)))
        seen = self.encoder(letters)
        return torch.stack([tray.look(seen) for tray in trays]).mean().item()

    def take_off(self):
        now = time.time()
        for number, tray in list(self.riding.items()):
            if tray.due <= now:
                self.delivered[tray.gate] += 1
                del self.riding[number]


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(9)
    random.seed(9)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    hall = Hall(device)
    alike = 0.0
    with torch.no_grad():
        while time.time() < until:
            hall.put_on(torch.randn(LETTERS, FEATURES, device=device))
            alike = 0.9 * alike + 0.1 * hall.pass_post(torch.randn(64, FEATURES, device=device))
            hall.take_off()
            if hall.count % 6 == 0:
                hall.belt.set_speed(random.uniform(1.4, 2.4))
            if hall.count % 30 == 0:
                print(f"tray {hall.count}: {len(hall.riding)} riding at {hall.belt.speed:.2f} m/s, "
                      f"{sum(hall.delivered)} delivered, likeness {alike:.3f}", flush=True)
            time.sleep(0.07)


if __name__ == "__main__":
    main()
