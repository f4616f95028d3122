"""Hot spots of the night's taxi fares.

The cash registers of the cabs upload their fares in pages, one page every two seconds. A
map of the town is redrawn five times a second: each fare of the night so far warms the
corners around the place where it began, less and less as it ages. The dispatcher is told
now and then which corners to send free cabs to.

ticket: practice
class: pool-growth
holder: -
cause: size-class-misses
"""
import os
import sched
import time

import torch

TOWN = 8.0
GRID = 64
PAGE = 128
FIRST_PAGES = 6
UPLOAD_EVERY = 2.0
REDRAW_EVERY = 0.2
REPORT_EVERY = 4.0
BLUR = 0.35
HALF_LIFE = 40.0
QUARTERS = ((1.5, 2.0, 0.5), (5.8, 6.1, 0.8), (6.5, 1.2, 0.4), (3.9, 4.2, 1.2))


def town_corners(device):
    axis = torch.linspace(0.0, TOWN, GRID, device=device)
    north, east = torch.meshgrid(axis, axis, indexing="ij")
    return torch.stack((east.reshape(-1), north.reshape(-1)), dim=1)


class Fares:
    """Where and when the fares of the night began."""

    def __init__(self, device):
        self.device = device
        self.places = torch.empty(0, 2, device=device)
        self.times = torch.empty(0, device=device)

    def upload(self, now, age=0.0):
        quarter = torch.randint(len(QUARTERS), (PAGE,))
        centres = torch.tensor(QUARTERS)[quarter]
        places = centres[:, :2] + centres[:, 2:] * torch.randn(PAGE, 2)
        times = now - age - UPLOAD_EVERY * torch.rand(PAGE)
        self.places = torch.cat((self.places, places.clamp(0.0, TOWN).to(self.device)))
        self.times = torch.cat((self.times, times.to(self.device)))

    def weights(self, now):
        return torch.exp2((self.times - now) / HALF_LIFE)


class HeatMap:
    def __init__(self, device):
        self.corners = town_corners(device)
        self.heat = torch.zeros(GRID * GRID, device=device)

    def closeness(self, places):
        near = torch.cdist(places, self.corners)  # grows
        return near.square_().div_(-2 * BLUR * BLUR).exp_()

    def redraw(self, fares, now):
        weights = fares.weights(now)
        self.heat = weights @ self.closeness(fares.places)  # grows

    def hottest(self, count=3):
        heat, index = self.heat.topk(count)
        return [(*self.corners[i].tolist(), h) for h, i in zip(heat.tolist(), index.tolist())]


class NightShift:
    """The timetable of the night: each duty puts itself on the timetable again."""

    def __init__(self, end, device):
        self.opened = time.time()
        self.end = end
        self.fares = Fares(device)
        self.map = HeatMap(device)
        self.timetable = sched.scheduler(time.time, time.sleep)
        for page in range(FIRST_PAGES):
            self.fares.upload(0.0, age=UPLOAD_EVERY * (FIRST_PAGES - page))
        self.maps = 0

    def now(self):
        return time.time() - self.opened

    def duty(self, due, every, action):
        action()
        following = max(due + every, time.time())
        if following < self.end:
            self.timetable.enterabs(following, 1, self.duty, (following, every, action))

    def take_page(self):
        self.fares.upload(self.now())

    def draw(self):
        self.map.redraw(self.fares, self.now())  # grows
        self.maps += 1

    def report(self):
        spots = "; ".join(f"{east:.1f} km east {north:.1f} km north ({heat:.0f})"
                          for east, north, heat in self.map.hottest())
        print(f"{self.maps} maps, {len(self.fares.times)} fares, send cabs to {spots}", flush=True)

    def run(self):
        for first, every, action in (
            (0.0, REDRAW_EVERY, self.draw),
            (1.0, UPLOAD_EVERY, self.take_page),
            (1.5, REPORT_EVERY, self.report),
        ):
            self.timetable.enterabs(self.opened + first, 1, self.duty, (self.opened + first, every, action))
        self.timetable.run()


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(17)
    NightShift(end, "cuda" if torch.cuda.is_available() else "cpu").run()


if __name__ == "__main__":
    main()
