"""Triage of wrist radiographs in an emergency department.

Radiographs come in groups of eight from the X-ray rooms.  A small encoder and
decoder marks on each picture where a fracture may lie; the picture's score is
the highest mark.  For every picture a report (number, score, the map in half
precision) goes over a socket to the archive, where the radiologist's viewer
picks it up.  The reports are pickled, each behind its length, so that the
archive can read them one after the other from the same connection.

ticket: practice
class: host-growth
holder: packer memo
cause: pickler-memo-kept
"""
import io
import os
import pickle
import socket
import struct
import threading
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

GROUP = 8
SIDE = 512
PACE = 0.25

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class FractureMarker(nn.Module):
    """Down twice, up twice, with one connection across."""

    def __init__(self, width=12):
        super().__init__()
        self.enter = nn.Conv2d(1, width, 5, stride=2, padding=2)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up = nn.Conv2d(3 * width, width, 3, padding=1)
        self.leave = nn.Conv2d(width, 1, 1)

    def forward(self, pictures):
        shallow = F.relu(self.enter(pictures))
        deep = F.relu(self.middle(F.relu(self.down(shallow))))
        deep = F.interpolate(deep, scale_factor=2, mode="nearest")
        joined = F.relu(self.up(torch.cat([shallow, deep], dim=1)))
        marks = F.interpolate(self.leave(joined), scale_factor=2, mode="nearest")
        return torch.sigmoid(marks).squeeze(1)


class Archive(threading.Thread):
    """The far end of the connection: takes whole reports and counts them."""

    def __init__(self, connection):
        super().__init__(daemon=True)
        self.connection = connection
        self.reports = 0

    def run(self):
        stream = self.connection.makefile("rb")
        while True:
            head = stream.read(8)
            if len(head) < 8:
                break
            (length,) = struct.unpack("<Q", head)
            self.reports += len(stream.read(length)) == length
        stream.close()


class ArchiveLink:
    """Packs reports and sends them over one connection."""

    def __init__(self, connection):
        self.connection = connection
        self.parcel = io.BytesIO()
        self.packer = pickle.Pickler(self.parcel, protocol=5)

    def send(self, report):
        self.parcel.seek(0)
        self.parcel.truncate()
        self.packer.dump(report)  # keeps
        body = self.parcel.getvalue()
        self.connection.sendall(struct.pack("<Q", len(body)))
        self.connection.sendall(body)

    def close(self):
        self.connection.close()


def xray_room(seed):
    """Groups of radiographs, made up from soft shapes and grain."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        coarse = torch.rand(GROUP, 1, 16, 16, generator=generator)
        soft = F.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
        yield soft + 0.05 * torch.rand(GROUP, 1, SIDE, SIDE, generator=generator)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    marker = FractureMarker().to(device).eval()

    near, far = socket.socketpair()
    archive = Archive(far)
    archive.start()
    link = ArchiveLink(near)

    groups = 0
    urgent = 0
    next_group = time.time()
    for pictures in xray_room(seed=21):
        if time.time() >= deadline:
            break
        with torch.inference_mode():
            marks = marker(pictures.to(device))
            scores = marks.amax(dim=(1, 2)).tolist()
            maps = marks.half().cpu().numpy()  # grows
        for place, score in enumerate(scores):
            number = groups * GROUP + place
            link.send({"number": f"W{number:07d}", "score": score, "map": maps[place]})
            urgent += score > 0.6
        groups += 1
        if groups % 20 == 0:
            print(f"{groups * GROUP} radiographs read, {urgent} urgent, "
                  f"archive has {archive.reports} reports", flush=True)
        next_group += PACE
        time.sleep(max(0.0, next_group - time.time()))

    link.close()
    archive.join(timeout=5.0)
    print(f"done: {groups * GROUP} radiographs, {archive.reports} reports at the archive", flush=True)


if __name__ == "__main__":
    main()
