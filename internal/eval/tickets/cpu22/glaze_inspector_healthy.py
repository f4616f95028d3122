"""A pastry shop photographs each tray of eclairs behind the glazing line.  A small convolutional network says how even
the glaze is, and for each tray a map is drawn of where the network has looked, from the feature maps of two of its
layers.  Trays with an uneven glaze go back to the glazer.

ticket: practice
class: none
"""
import collections
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 6
SIDE = 96
MAP_SIDE = 480
PHOTOS = 64

torch.set_num_threads(1)
torch.set_grad_enabled(False)


class GlazeNet(nn.Module):
    """Looks at a tray and scores how even the glaze is."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 5, stride=2, padding=2)
        self.body = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.tail = nn.Conv2d(24, 24, 3, stride=2, padding=1)
        self.score = nn.Linear(24, 1)

    def forward(self, photo):
        x = torch.relu(self.stem(photo))
        x = torch.relu(self.body(x))
        x = torch.relu(self.tail(x))
        return torch.sigmoid(self.score(x.mean(dim=(2, 3))))


class TrayMap:
    """Where on a tray the network has looked; each watched layer adds its share."""

    def __init__(self, tray, backdrop):
        self.tray = tray
        self.canvas = torch.rand(MAP_SIDE, MAP_SIDE).mul_(backdrop)
        self.drawn = set()

    def on_forward(self, module, inputs, output):
        if module in self.drawn:
            return
        energy = output.pow(2).mean(dim=1, keepdim=True)
        energy = F.interpolate(energy, size=(MAP_SIDE, MAP_SIDE), mode="nearest")[0, 0]
        self.canvas.add_(energy.div_(energy.max() + 1e-6))
        self.drawn.add(module)

    def hottest(self):
        at = int(self.canvas.argmax())
        return divmod(at, MAP_SIDE)


class Inspector:
    """Scores trays and draws the map of each."""

    def __init__(self, net):
        self.net = net
        self.watched = (net.stem, net.tail)
        self.backdrop = torch.full((MAP_SIDE, MAP_SIDE), 0.2)
        self.recent = collections.deque(maxlen=8)
        self.sent_back = 0

    def watch(self, tray_map):
        handles = []
        for layer in self.watched:
            handles += [layer.register_forward_hook(tray_map.on_forward)]
        return handles

    def inspect(self, tray, photo):
        tray_map = TrayMap(tray, self.backdrop)
        handles = self.watch(tray_map)
        try:
            evenness = float(self.net(photo))
        finally:
            for handle in handles:
                handle.remove()
        self.recent.append(tray_map)
        return evenness, tray_map.hottest()


class GlazingLine:
    """The camera behind the glazer: a drawer of photographs under changing light."""

    def __init__(self):
        self.photos = torch.rand(PHOTOS, 3, SIDE, SIDE)
        self.tray = 0

    def next_tray(self):
        self.tray += 1
        light = 0.8 + 0.4 * float(torch.rand(1))
        return self.tray, self.photos[self.tray % PHOTOS].unsqueeze(0) * light


def main():
    torch.manual_seed(2206)
    net = GlazeNet().eval()
    inspector = Inspector(net)
    line = GlazingLine()
    scores = collections.deque(maxlen=60)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        tray, photo = line.next_tray()
        evenness, spot = inspector.inspect(tray, photo)
        scores.append(evenness)
        mean = sum(scores) / len(scores)
        if evenness < mean - 0.002:
            inspector.sent_back += 1
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            print(f"tray {tray:5d}  evenness {evenness:.4f} (mean {mean:.4f})  hottest at {spot}  "
                  f"sent back {inspector.sent_back}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"line stops: {line.tray} trays inspected, {inspector.sent_back} sent back", flush=True)


if __name__ == "__main__":
    main()
