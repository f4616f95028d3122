"""Throw judge for the skee-ball lanes of an arcade.

A camera above each lane follows the ball up the ramp, and one network for all lanes tells into which ring it falls.
The lanes take turns at being audited: for a few throws an audit looks at what the blocks of the network respond to,
so that a dirty lens or a worn ramp shows up as a pale spot on the lane.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
THROWS_A_SECOND = 8.0
LANES = 9
HEIGHT, WIDTH = 96, 64
RINGS = (10, 20, 30, 40, 50, 100)
AUDIT_THROWS = 3


class RingNet(nn.Module):
    """Camera picture of a throw in, scores for the rings out."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.Conv2d(2, 16, 3, padding=1), nn.ReLU()),
            nn.Sequential(nn.Conv2d(16, 24, 3, padding=1), nn.ReLU()),
            nn.Sequential(nn.Conv2d(24, 32, 3, padding=1), nn.ReLU()),
        ])
        self.rings = nn.Linear(32, len(RINGS))
        nn.init.normal_(self.rings.weight, std=8.0)

    def forward(self, picture):
        for block in self.blocks:
            picture = block(picture)
        return self.rings(picture.mean(dim=(2, 3)))


class LaneCamera:
    """Pictures of throws: the ramp in one channel, the trail of the ball in the other."""

    def __init__(self, seed):
        self._random = torch.Generator(device=DEVICE).manual_seed(seed)
        self._ramps = torch.rand(LANES, HEIGHT, WIDTH, generator=self._random, device=DEVICE)
        self._columns = torch.linspace(-1.0, 1.0, WIDTH, device=DEVICE)
        self._rows = torch.linspace(0.0, 1.0, HEIGHT, device=DEVICE).unsqueeze(1)

    def throw(self, lane):
        aim, spin = torch.randn(2, generator=self._random, device=DEVICE).mul(0.3).tolist()
        trail = torch.exp(-80.0 * (self._columns - aim - spin * self._rows ** 2) ** 2)
        return torch.stack([self._ramps[lane], trail]).unsqueeze(0)


class LaneAudit:
    """Mean responses of every block over a few throws on one lane."""

    def __init__(self, lane, net):
        self.lane = lane
        self.seen = 0
        self._responses = {}
        self._handles = []
        for block in net.blocks:
            self._handles.append(block.register_forward_hook(self._observe))

    def _observe(self, block, inputs, output):
        if self.complete:
            return
        response = output[0] / AUDIT_THROWS
        if block in self._responses:
            self._responses[block] += response
        else:
            self._responses[block] = response

    def next_throw(self):
        self.seen += 1

    @property
    def complete(self):
        return self.seen >= AUDIT_THROWS

    def pale_share(self):
        shares = []
        for response in self._responses.values():
            light = response.mean(dim=0)
            shares.append((light < 0.95 * light.mean()).float().mean())
        return float(torch.stack(shares).mean())

    def close(self):
        for handle in self._handles:
            handle.remove()


def main():
    torch.manual_seed(1909)
    net = RingNet().to(DEVICE).eval()
    camera = LaneCamera(seed=10)
    audit = LaneAudit(0, net)
    throws, points, pale = 0, 0, [0.0] * LANES
    end = time.monotonic() + SECONDS
    next_line = time.monotonic() + 2.0
    while time.monotonic() < end:
        began = time.monotonic()
        with torch.no_grad():
            points += RINGS[int(net(camera.throw(audit.lane)).argmax())]
        throws += 1
        audit.next_throw()
        if audit.complete:
            pale[audit.lane] = audit.pale_share()
            audit.close()
            audit = LaneAudit((audit.lane + 1) % LANES, net)
        if began >= next_line:
            palest = max(range(LANES), key=pale.__getitem__)
            print(f"{throws} throws, {points} points, palest lane {palest + 1} ({pale[palest]:.1%})", flush=True)
            next_line += 2.0
        time.sleep(max(0.0, 1.0 / THROWS_A_SECOND - (time.monotonic() - began)))
    print(f"lanes closed after {throws} throws, {points / max(throws, 1):.1f} points a throw", flush=True)


if __name__ == "__main__":
    main()
