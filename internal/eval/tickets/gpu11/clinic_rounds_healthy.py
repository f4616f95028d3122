"""Clinics learn together to tell rhythms of the heart apart, without giving their data away: each trains a copy of the
network and sends back by how much its weights moved. The server keeps the updates of a round until all of them are
there and have been taken in.

ticket: practice
class: none
"""

import copy
import os
import random
import time

import torch
from torch import nn

CLINICS = ("north", "south", "harbour", "hill", "station", "park")
LEADS, SAMPLES, RHYTHMS = 3, 256, 5


def flat(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


class Clinic:
    """A place with patients of its own, which are not quite like those elsewhere."""

    def __init__(self, name, device):
        self.name, self.device, self.patients = name, device, random.randint(200, 900)
        self.noise, self.pace = random.uniform(0.1, 0.5), random.uniform(0.8, 1.2)

    def beats(self, count):
        rhythm = torch.randint(RHYTHMS, (count,), device=self.device)
        moment = torch.linspace(0, 12, SAMPLES, device=self.device) * self.pace
        wave = torch.sin(moment * (1 + rhythm[:, None] / 3)) ** 15
        leads = wave[:, None] * torch.tensor([1.0, 0.6, -0.4], device=self.device)[:, None]
        return leads + self.noise * torch.randn(count, LEADS, SAMPLES, device=self.device), rhythm

    def train(self, model, steps):
        """How the weights move by some steps on the clinic's own patients."""
        before, own = flat(model), copy.deepcopy(model)
        optimizer = torch.optim.SGD(own.parameters(), lr=0.05, momentum=0.9)
        for _ in range(steps):
            signals, rhythm = self.beats(32)
            loss = nn.functional.cross_entropy(own(signals), rhythm)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return flat(own) - before, float(loss)


class Server:
    def __init__(self, device):
        self.round, self.updates = 0, {}
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(LEADS * SAMPLES, 256), nn.ReLU(), nn.Linear(256, 128),
                                   nn.ReLU(), nn.Linear(128, RHYTHMS)).to(device)

    def receive(self, clinic, update):
        self.updates[clinic.name] = update

    @torch.no_grad()
    def finish_round(self, clinics):
        """Moves the weights by the mean of what the clinics sent, after their numbers of patients."""
        total = sum(clinic.patients for clinic in clinics)
        moved = flat(self.model)
        for clinic in clinics:
            moved += clinic.patients / total * self.updates[clinic.name]
        nn.utils.vector_to_parameters(moved, self.model.parameters())
        self.updates.clear()
        self.round += 1


def main():
    torch.set_num_threads(1)
    random.seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    server, end = Server(device), time.time() + float(os.environ.get("SECONDS", "45"))
    clinics = [Clinic(name, device) for name in CLINICS]
    while time.time() < end:
        losses, present = [], random.sample(clinics, random.randint(3, len(clinics)))
        for clinic in present:
            update, loss = clinic.train(server.model, random.randint(2, 6))
            server.receive(clinic, update)
            losses.append(loss)
            time.sleep(random.uniform(0.05, 0.2))
        server.finish_round(present)
        if server.round % 5 == 0:
            signals, rhythm = random.choice(clinics).beats(200)
            right = (server.model(signals).argmax(1) == rhythm).float().mean()
            print("round", server.round, "loss", round(sum(losses) / len(losses), 3), "right", round(float(right), 3),
                  flush=True)


if __name__ == "__main__":
    main()
