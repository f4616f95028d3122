"""Records what the camera at the top of a cable car sees. Each frame is cleaned on the device by a small filter network
and made into bytes; a thread of its own writes the bytes to the memory card, so that the card's pace does not hold up
the camera. Frames that come while eight wait are left out.

ticket: practice
class: none
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.nn import functional as F

HEIGHT, WIDTH, PERIOD = 480, 640, 0.08
CARD_SPEED = 5e6  # bytes a second


class Cleaner(nn.Module):
    """Takes the noise from a frame; the rest of it is left as it is."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.second = nn.Conv2d(width, 12, 3, padding=1)

    def forward(self, frame):
        noise = F.pixel_shuffle(self.second(torch.relu(self.first(frame))), 2)
        return (frame - 0.1 * noise).clamp(0.0, 1.0)


class Camera:
    """A view of the slope that glides along as the car climbs."""

    def __init__(self, device):
        slope = torch.rand(1, 3, 60, 240, device=device)
        self.slope = F.interpolate(slope, size=(HEIGHT, 4 * WIDTH), mode="bilinear", align_corners=False)
        self.place = 0

    def grab(self):
        self.place = (self.place + 6) % (3 * WIDTH)
        view = self.slope[..., self.place:self.place + WIDTH]
        return view + 0.05 * torch.randn_like(view)


class Card:
    """The memory card, which is slow."""

    def __init__(self):
        self.file = open(os.environ.get("CARD", os.devnull), "wb")
        self.frames = 0

    def write(self, picture):
        self.file.write(picture.tobytes())
        time.sleep(picture.nbytes / CARD_SPEED)
        self.frames += 1


class Recorder:
    def __init__(self):
        self.card = Card()
        self.writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="card")
        self.places = threading.BoundedSemaphore(8)

    def add(self, frame):
        if not self.places.acquire(blocking=False):
            return
        picture = (255.0 * frame[0]).byte().permute(1, 2, 0).contiguous().cpu().numpy()
        written = self.writer.submit(self.card.write, picture)
        written.add_done_callback(lambda _: self.places.release())

    def close(self):
        self.writer.shutdown(wait=True, cancel_futures=True)
        self.card.file.close()


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    camera, clean, recorder = Camera(device), Cleaner().to(device).eval(), Recorder()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    grabbed, due = 0, time.time()
    while time.time() < end:
        recorder.add(clean(camera.grab()))
        grabbed += 1
        if grabbed % 50 == 0:
            print(f"{grabbed} frames, {recorder.card.frames} on the card", flush=True)
        due = max(due + PERIOD, time.time())
        time.sleep(max(0.0, due - time.time()))
    recorder.close()


if __name__ == "__main__":
    main()
