"""Road state from the cameras of gritting lorries.

The lorries of a depot drive their routes in turn. The camera looks at the road ahead, and a small
network tells for each spot of the picture whether it is dry, wet, slushy or icy. From these maps
the dose of salt is set for the next stretch, in grams for the square metre, with the temperature
of the road. The shift's sheet is asked after every route: share of ice over the last stretches,
the salt that was spread, and the route's worst stretch.

ticket: practice
class: none
"""
import collections
import itertools
import os
import time

import torch
from torch import nn

STATES = ("dry", "wet", "slush", "ice")
HEIGHT, WIDTH = 180, 240
LOOK_BACK = 30
STRETCHES_A_SECOND = 9
ROUTES = {"ring road": 14, "valley": 9, "hospital": 6, "bus lanes": 11}


class RoadNet(nn.Module):
    """Works on a quarter of the size and is brought back to the picture's size at the end."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 12, 4, stride=4), nn.ReLU())
        self.look = nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.ReLU())
        self.tell = nn.Conv2d(12, len(STATES), 1)
        self.back = nn.Upsample(scale_factor=4, mode="nearest")

    def forward(self, picture):
        return self.back(self.tell(self.look(self.down(picture)))).softmax(dim=1)


def road_ahead(source, frost):
    """A picture of a road: grey asphalt, wheel tracks, bright patches where it is frosty."""
    picture = 0.3 + 0.05 * torch.randn(1, 3, HEIGHT, WIDTH, generator=source)
    for track in (80, 150):
        picture[..., track:track + 14] -= 0.1
    coarse = torch.rand(1, 1, HEIGHT // 20, WIDTH // 20, generator=source)
    patches = nn.functional.interpolate(coarse, size=(HEIGHT, WIDTH), mode="bilinear", align_corners=False)
    return picture + 0.6 * (patches > 1.0 - frost).float()


def dose(share_of_ice, road_temperature):
    """Grams for the square metre, in the steps that the spreader's dial has."""
    wish = 5 + 30 * share_of_ice + max(0.0, -road_temperature) * 2.5
    return min(40, 5 * round(wish / 5))


class ShiftSheet:
    def __init__(self):
        self.maps = collections.deque(maxlen=LOOK_BACK)
        self.spread = {route: 0.0 for route in ROUTES}
        self.worst = {}

    def enter(self, route, stretch, states, grams):
        self.maps.append(states)
        self.spread[route] += grams * 7.5 * 400 / 1000
        ice = float(states[3].mean())
        if ice > self.worst.get(route, (0.0, 0))[0]:
            self.worst[route] = (ice, stretch)

    def ice_lately(self):
        recent = torch.stack([states[3] for states in list(self.maps)[-LOOK_BACK:]])
        near, far = recent[:, HEIGHT // 2:].mean(), recent[:, :HEIGHT // 2].mean()
        return float(near), float(far)

    def line(self, route):
        near, far = self.ice_lately()
        ice, stretch = self.worst[route]
        return (f"{route}: ice near {near:.3f} far {far:.3f}, worst stretch {stretch} ({ice:.3f}), "
                f"{self.spread[route]:.0f} kg of salt")


class Lorry:
    def __init__(self, net, sheet, seed):
        self.net, self.sheet = net, sheet
        self.source = torch.Generator().manual_seed(seed)
        self.temperature = -1.0

    def drive(self, route, end):
        for stretch in range(ROUTES[route]):
            if time.time() > end:
                return False
            started = time.time()
            self.temperature += float(torch.randn((), generator=self.source)) * 0.2 - 0.05 * self.temperature
            frost = min(0.9, max(0.05, 0.3 - 0.1 * self.temperature))
            states = self.net(road_ahead(self.source, frost))[0]
            grams = dose(float(states[3].mean()), self.temperature)
            self.sheet.enter(route, stretch, states, grams)
            time.sleep(max(0.0, 1 / STRETCHES_A_SECOND - (time.time() - started)))
        return True


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(23)
    sheet = ShiftSheet()
    lorry = Lorry(RoadNet().eval(), sheet, seed=4)
    said = 0.0
    with torch.inference_mode():
        for route in itertools.cycle(ROUTES):
            if not lorry.drive(route, end):
                break
            if time.time() - said > 3:
                said = time.time()
                print(sheet.line(route), flush=True)
    print(f"shift over, {sum(sheet.spread.values()):.0f} kg of salt", flush=True)


if __name__ == "__main__":
    main()
