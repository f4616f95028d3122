"""A parcel service reads stamps. Scanners send pictures with a key of their own; if the line breaks they send again
with the same key and must get the same reply, so replies are remembered for two seconds. A reply holds the class of
the stamp and a heat map for the operator's screen.

ticket: practice
class: none
"""

import os
import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

KINDS, PICTURE, SCREEN = 20, 96, 512


@dataclass
class Config:
    scanners: int = 3
    remember: float = 2.0
    resend: float = 0.15


@dataclass
class Reply:
    kind: int
    heat: np.ndarray
    made: float = field(default_factory=time.monotonic)


class ReplyStore:
    def __init__(self, seconds):
        self.seconds, self.replies, self.lock = seconds, {}, threading.Lock()

    def get(self, key):
        with self.lock:
            reply = self.replies.get(key)
            if reply is not None and time.monotonic() - reply.made > self.seconds:
                del self.replies[key]
                return None
            return reply

    def put(self, key, reply):
        with self.lock:
            for old in [old for old, kept in self.replies.items() if reply.made - kept.made > self.seconds]:
                del self.replies[old]
            self.replies[key] = reply


class StampReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, KINDS, 3, 2, 1))

    def forward(self, picture):
        return self.body(picture)


class Service:
    def __init__(self, config, device):
        self.device, self.store = device, ReplyStore(config.remember)
        self.reader = StampReader().to(device).eval()

    @torch.no_grad()
    def handle(self, key, picture):
        reply = self.store.get(key)
        if reply is None:
            maps = self.reader(picture.to(self.device)[None])
            kind = maps.mean(dim=(0, 2, 3)).argmax().item()
            heat = F.interpolate(maps[:, [kind]], (SCREEN, SCREEN), mode="bilinear", align_corners=False)
            reply = Reply(kind, heat[0, 0].cpu().numpy())
            self.store.put(key, reply)
        return reply


def scanner(service, config, end):
    sent = 0
    while time.time() < end:
        key, picture = uuid.uuid4().hex, torch.rand(3, PICTURE, PICTURE)
        reply = service.handle(key, picture)
        if random.random() < config.resend:
            assert service.handle(key, picture).kind == reply.kind
        sent += 1
        time.sleep(random.uniform(0.1, 0.25))
    return sent


def main():
    torch.set_num_threads(1)
    config, end = Config(), time.time() + float(os.environ.get("SECONDS", "45"))
    service = Service(config, "cuda" if torch.cuda.is_available() else "cpu")
    with ThreadPoolExecutor(config.scanners) as pool:
        scanners = [pool.submit(scanner, service, config, end) for _ in range(config.scanners)]
        while time.time() < end:
            print(f"{sum(not each.done() for each in scanners)} scanners at work", flush=True)
            time.sleep(2)
    print(f"{sum(each.result() for each in scanners)} stamps read")


if __name__ == "__main__":
    main()
