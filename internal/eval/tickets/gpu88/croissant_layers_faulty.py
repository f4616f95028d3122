"""Grade cut croissants by the look of their layers, tray by tray.

A bakery cuts two dozen croissants of every batch in half and photographs the cut faces. A residual network sorts the
faces into four grades: open honeycomb, even, dense, and torn. For the piece that the network is least sure of, the
station also works out where on the cut face the evidence for its grade lies, and tells the baker at the bench which
quarter of the croissant to look at. The shares of the grades are shown on the screen above the laminating table.

ticket: practice
class: app-leak
holder: maps _forward_hooks
cause: hooks-left closure-kept
"""
import os
import time
from collections import Counter

import torch
from torchvision.models import resnet18

GRADES = ("honeycomb", "even", "dense", "torn")
QUARTERS = (("upper left", "upper right"), ("lower left", "lower right"))
TRAY = 24
SIDE = 224
TRAYS_A_SECOND = 6.0


class Camera:
    """Stands in for the light box: cut faces as spirals of light and dark dough."""

    def __init__(self, device):
        self.device = device
        axis = torch.linspace(-1.0, 1.0, SIDE, device=device)
        self.radius = (axis[None, :] ** 2 + axis[:, None] ** 2).sqrt()
        self.angle = torch.atan2(axis[:, None].expand(SIDE, SIDE), axis[None, :].expand(SIDE, SIDE))
        self.random = torch.Generator(device=device).manual_seed(55)

    def tray(self):
        turns = 14.0 + 10.0 * torch.rand(TRAY, 1, 1, generator=self.random, device=self.device)
        tear = 4.0 * torch.rand(TRAY, 1, 1, generator=self.random, device=self.device)
        layers = torch.sin(turns * self.radius + tear * self.angle)
        face = torch.where(self.radius < 0.85, layers, torch.full_like(layers, -1.0))
        tint = torch.tensor([1.0, 0.8, 0.5], device=self.device).view(1, 3, 1, 1)
        grain = torch.randn(TRAY, 3, SIDE, SIDE, generator=self.random, device=self.device)
        return face[:, None] * tint + 0.1 * grain


class Station:
    def __init__(self, device):
        self.net = resnet18(weights=None, num_classes=len(GRADES)).to(device).eval()

    def _scores(self, faces):
        return self.net(faces)  # grows

    @torch.no_grad()
    def grade(self, faces):
        """Grade of each face, and the number of the face that was hardest to grade."""
        chances = self._scores(faces).softmax(dim=1)
        two_best = chances.topk(2, dim=1).values
        hardest = (two_best[:, 0] - two_best[:, 1]).argmin()
        return chances.argmax(dim=1).tolist(), int(hardest)

    @torch.no_grad()
    def evidence(self, face):
        """Where on one face the evidence for its grade lies, as a small map."""
        maps = []
        self.net.layer4.register_forward_hook(lambda layer, given, made: maps.append(made))  # keeps
        grade = self._scores(face[None]).argmax(dim=1)
        weights = self.net.fc.weight[grade]
        heat = torch.einsum("nc,nchw->nhw", weights, maps[0])[0]
        return (heat - heat.min()) / (heat.max() - heat.min() + 1e-6)

    def quarter(self, face):
        heat = self.evidence(face)
        middle = heat.shape[0] // 2
        sums = [[heat[:middle, :middle].sum(), heat[:middle, middle:].sum()],
                [heat[middle:, :middle].sum(), heat[middle:, middle:].sum()]]
        best = max(((float(sums[row][col]), row, col) for row in (0, 1) for col in (0, 1)))
        return QUARTERS[best[1]][best[2]]


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(8)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    camera, station = Camera(device), Station(device)

    shares = Counter()
    pointed = Counter()
    trays = 0
    due = time.time()
    while time.time() < stop:
        faces = camera.tray()
        grades, hardest = station.grade(faces)
        shares.update(GRADES[grade] for grade in grades)
        pointed[station.quarter(faces[hardest])] += 1
        trays += 1
        if trays % 20 == 0:
            total = sum(shares.values())
            text = ", ".join(f"{name} {100 * shares[name] / total:.0f}%" for name in GRADES)
            print(f"{trays} trays: {text}; look at the {pointed.most_common(1)[0][0]}", flush=True)
        due = max(due + 1.0 / TRAYS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    print(f"bench closed after {trays} trays, {sum(shares.values())} croissants", flush=True)


if __name__ == "__main__":
    main()
