"""A survey boat photographs the brick lining of a canal tunnel and composes an unrolled mosaic of it.

The boat creeps along the tunnel with a ring of lamps and cameras. With each new stretch the exposure of the lamps is
balanced again, so the mosaic of all that has been passed so far is composed afresh from the lamps' profiles and the
texture along the tunnel. The surveyor reads damp patches and bulging rings from it, as a few numbers for the log.

    ticket: practice
    class: pool-growth
    holder: -
    cause: outgrown-blocks
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
RING_POINTS = 2048
TUNNEL_COLUMNS = 10240
PORTAL_COLUMNS = 2560
COLUMNS_PER_ROUND = 16
ROUND = 1.0 / 6.0
LAMPS = 3
DAMP_LIMIT = 2.8

torch.set_num_threads(1)


class Lining:
    """The tunnel as the cameras see it: one profile around the ring and one texture along the way for each lamp."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        angle = torch.linspace(0.0, 6.2832, RING_POINTS, device=DEVICE)
        self.profiles = [0.6 + 0.3 * torch.cos(angle - 2.1 * lamp) for lamp in range(LAMPS)]
        self.textures = [
            0.5 + 0.4 * torch.rand(TUNNEL_COLUMNS, device=DEVICE, generator=generator) for _ in range(LAMPS)
        ]


class Exposure:
    """Gains of the lamps; each stretch moves them a little towards an even picture."""

    def __init__(self):
        self.gains = [1.0] * LAMPS

    def balance(self, lining, columns):
        for lamp, texture in enumerate(lining.textures):
            seen = float(texture[:columns].mean())
            self.gains[lamp] += 0.1 * (0.7 / seen - self.gains[lamp])


class Survey:
    def __init__(self, lining):
        self.lining = lining
        self.exposure = Exposure()
        self.columns = PORTAL_COLUMNS
        self.damp = 0
        self.bulge = 0.0
        self.brightness = 0.0

    def creep(self):
        """Moves the boat on; at the far portal it waits for the lock."""
        self.columns = min(TUNNEL_COLUMNS, self.columns + COLUMNS_PER_ROUND)
        self.exposure.balance(self.lining, self.columns)

    def compose(self):
        """The unrolled lining from the portal to the boat."""
        strip = torch.empty(RING_POINTS, self.columns, device=DEVICE)
        mosaic = strip[:, :self.columns]
        for lamp in range(LAMPS):
            profile = (self.exposure.gains[lamp] * self.lining.profiles[lamp]).unsqueeze(1)
            texture = self.lining.textures[lamp][:self.columns].unsqueeze(0)
            if lamp == 0:
                torch.mul(profile, texture, out=mosaic)
            else:
                mosaic.addcmul_(profile, texture)
        return mosaic

    def read(self, mosaic):
        """Takes the surveyor's numbers from the mosaic."""
        along = mosaic.mean(dim=0)  # grows
        around = mosaic.mean(dim=1)
        crown = mosaic[RING_POINTS // 2]
        self.damp = int((along + crown > DAMP_LIMIT).sum())
        self.bulge = float(around.max() - around.min())
        self.brightness = float(along.mean())

    def stretch(self):
        self.creep()
        self.read(self.compose())


class Log:
    """Says every few seconds how far the boat has come."""

    def __init__(self):
        self.spoken = time.time()

    def maybe(self, survey):
        if time.time() - self.spoken < 3.0:
            return
        self.spoken = time.time()
        metres = survey.columns * 0.05
        print(
            f"{metres:.0f} m: {survey.damp} damp columns, bulge {survey.bulge:.3f}, brightness {survey.brightness:.3f}",
            flush=True,
        )


def main():
    survey = Survey(Lining(seed=9))
    log = Log()
    end = time.time() + SECONDS
    due = time.time()
    stretches = 0
    while time.time() < end:
        survey.stretch()
        stretches += 1
        log.maybe(survey)
        due = max(due + ROUND, time.time() + 0.01)
        time.sleep(due - time.time() if due > time.time() else 0.0)
    print(f"survey ends {survey.columns * 0.05:.0f} m in, after {stretches} stretches on {DEVICE}", flush=True)


if __name__ == "__main__":
    main()
