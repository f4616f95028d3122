"""Lays out the pieces of made-to-measure garments on cloth and sends the knife's paths to the cutting table.

Each order scales and turns the 48 pieces of a base pattern to the customer's measures, tries a number of placements on
the roll in one batch on the card, takes the one with the shortest roll, and draws each outline as a finely sampled
path with a speed for every point (slow in tight curves).  The paths of an order go down a line to the table's relay as
one record; the relay runs in its own thread and here merely counts what comes through.  Every few seconds the program
prints the orders cut, the cloth used and how many bytes the relay has seen.

ticket: practice
class: none
"""
import math
import os
import pickle
import socket
import threading
import time

import torch

PIECES = 48
OUTLINE = 64
SAMPLES = 2560
TRIALS = 256


class Relay(threading.Thread):
    """The near end of the cutting table: takes bytes off the line."""

    def __init__(self, line):
        super().__init__(daemon=True)
        self.line = line
        self.taken = 0

    def run(self):
        while True:
            part = self.line.recv(1 << 18)
            if not part:
                return
            self.taken += len(part)


class TableLink:
    def __init__(self):
        ours, theirs = socket.socketpair()
        self.relay = Relay(theirs)
        self.relay.start()
        self.socket = ours
        self.wire = ours.makefile("wb")
        self.wire_pickler = pickle.Pickler(self.wire, protocol=5)

    def send(self, record):
        self.wire_pickler.dump(record)
        self.wire_pickler.clear_memo()
        self.wire.flush()

    def close(self):
        self.wire.close()
        self.socket.close()
        self.relay.join(timeout=5.0)


class Cutter:
    def __init__(self, device):
        self.device = device
        turn = torch.linspace(0.0, 2.0 * math.pi, OUTLINE + 1, device=device)[:-1]
        radius = 0.12 + 0.05 * torch.rand(PIECES, OUTLINE, device=device)
        self.outline = torch.stack([radius * torch.cos(turn), 1.6 * radius * torch.sin(turn)], dim=-1)
        fine = torch.linspace(0.0, OUTLINE, SAMPLES + 1, device=device)[:-1]
        self.left = fine.long() % OUTLINE
        self.right = (self.left + 1) % OUTLINE
        self.share = (fine - fine.floor()).view(1, SAMPLES, 1)

    def grade(self, girth, length):
        return self.outline * torch.tensor([girth, length], device=self.device)

    def nest(self, pieces):
        """The best of many orders in which the pieces can be laid in rows across the roll."""
        width = pieces[..., 0].amax(1) - pieces[..., 0].amin(1)
        depth = pieces[..., 1].amax(1) - pieces[..., 1].amin(1)
        order = torch.rand(TRIALS, PIECES, device=self.device).argsort(1)
        across = width[order].cumsum(1)
        row = (across / 1.5).floor()
        used = (row[:, -1] + 1.0) * depth.max() + depth[order][:, :8].mean(1)
        best = used.argmin()
        place = torch.empty(PIECES, 2, device=self.device)
        place[order[best], 0] = across[best] - row[best] * 1.5
        place[order[best], 1] = row[best] * depth.max()
        return place, used[best].item()

    def paths(self, pieces, place):
        laid = pieces + place.unsqueeze(1)
        line = laid[:, self.left] * (1.0 - self.share) + laid[:, self.right] * self.share
        bend = (line.roll(1, 1) - 2.0 * line + line.roll(-1, 1)).norm(dim=-1)
        speed = 0.8 / (1.0 + 400.0 * bend)
        return torch.cat([line, speed.unsqueeze(-1)], dim=-1)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(21)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cutter = Cutter(device)
    link = TableLink()
    dice = torch.Generator(device="cpu").manual_seed(8)
    orders, cloth = 0, 0.0
    spoken = time.time()
    with torch.inference_mode():
        while time.time() < deadline:
            girth, length = (0.8 + 0.4 * torch.rand(2, generator=dice)).tolist()
            pieces = cutter.grade(girth, length)
            place, used = cutter.nest(pieces)
            path = cutter.paths(pieces, place).cpu().numpy()
            link.send({"order": orders, "girth": girth, "length": length, "roll": used, "path": path})
            orders += 1
            cloth += used
            if time.time() - spoken > 2.0:
                print(f"{orders} orders, {cloth:.1f} m of cloth, {link.relay.taken / 1e6:.1f} MB to the table",
                      flush=True)
                spoken = time.time()
            time.sleep(0.1)
    link.close()
    print(f"done, {orders} orders cut", flush=True)


if __name__ == "__main__":
    main()
