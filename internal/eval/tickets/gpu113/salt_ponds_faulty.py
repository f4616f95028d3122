"""Evaporation ponds of a salt works.

Brine moves from pond to pond while sun and wind take the water out of it. During the hours of daylight a drone
surveys the ponds: its images are worked on by a helper thread, which makes a map of the crust for each of them. At
night the drone stays on its mast and only the model of the brine goes on.

ticket: practice
class: app-leak
holder: _surveys
cause: futures-kept
"""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 5
DAYLIGHT = 8.0
NIGHT = 8.0
PONDS = 32
POND = (512, 512)

torch.set_num_threads(1)


class BrineModel:
    """Density of the brine in a chain of ponds."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE)
        generator.manual_seed(seed)
        self.density = torch.rand(PONDS, 1, *POND, generator=generator, device=DEVICE).mul_(0.02).add_(1.03)
        self.kernel = torch.full((1, 1, 3, 3), 1.0 / 9.0, device=DEVICE)
        self.pond = 0

    def step(self, sun):
        here = self.density[self.pond : self.pond + 1]
        here.copy_(F.conv2d(F.pad(here, (1, 1, 1, 1), mode="replicate"), self.kernel))
        here.add_(0.0004 * sun).clamp_(1.0, 1.25)
        if float(here.mean()) > 1.22:
            here.fill_(1.03)
        self.pond = (self.pond + 1) % PONDS

    def view(self):
        return self.density[self.pond, 0]


class CrustMapper:
    """Makes a map of the crust from an image of a pond."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE)
        self.generator.manual_seed(seed)
        self.edges = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]], device=DEVICE)[None, None]

    def map_crust(self, pond, image):
        noisy = image + 0.01 * torch.randn(POND, generator=self.generator, device=DEVICE)
        edges = F.conv2d(noisy[None, None], self.edges, padding=1)[0, 0]
        crust = torch.sigmoid(40.0 * (noisy - 1.1) - edges.abs())  # grows
        return pond, crust


class SurveyDesk:
    """Sends images to the helper thread and enters the finished maps."""

    def __init__(self, mapper):
        self.mapper = mapper
        self.helper = ThreadPoolExecutor(max_workers=1, thread_name_prefix="crust")
        self._surveys = []
        self._entered = 0
        self.cover = [0.0] * PONDS
        self.maps = 0

    def send(self, pond, image):
        self._surveys.append(self.helper.submit(self.mapper.map_crust, pond, image.clone()))  # keeps

    def enter_finished(self):
        while self._entered < len(self._surveys) and self._surveys[self._entered].done():
            pond, crust = self._surveys[self._entered].result()
            self.cover[pond] = float((crust > 0.5).float().mean())
            self._entered += 1
            self.maps += 1

    def close(self):
        self.helper.shutdown(wait=True)
        self.enter_finished()


def is_day(elapsed):
    return elapsed % (DAYLIGHT + NIGHT) < DAYLIGHT


def main():
    brine = BrineModel(seed=3)
    desk = SurveyDesk(CrustMapper(seed=4))
    started = time.monotonic()
    next_report = started + 4.0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        day = is_day(began - started)
        brine.step(sun=1.0 if day else 0.1)
        if day:
            desk.send(brine.pond, brine.view())
        desk.enter_finished()
        if began >= next_report:
            covered = sum(desk.cover) / PONDS
            print(
                f"{began - started:5.0f} s  {'day' if day else 'night':5s}  maps {desk.maps:4d}  "
                f"crust {covered:.3f}  density {float(brine.density.mean()):.4f}",
                flush=True,
            )
            next_report += 4.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    desk.close()
    print(f"season closed with {desk.maps} maps of the ponds", flush=True)


if __name__ == "__main__":
    main()
