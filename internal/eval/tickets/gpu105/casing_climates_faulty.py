"""Climate over the casing soil of a mushroom farm.

A thermal camera and a carbon dioxide scanner pass over the beds several times a second. The thermal frames of the
last half minute give the slow trend of each bed, the gas maps of the last few seconds the draught between the beds,
and from both a controller sets the fans and the misting nozzles.

ticket: practice
class: app-leak
holder: plumes
cause: buffer-without-bound
"""
import collections
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PASSES_A_SECOND = 8
TREND_PASSES = 25 * PASSES_A_SECOND
DRAUGHT_PASSES = 4 * PASSES_A_SECOND
THERMAL_SHAPE = (256, 512)
GAS_SHAPE = (256, 256)
BEDS = 16


class Hall:
    """The true state of the hall that the instruments look at."""

    def __init__(self):
        self.heat = torch.full(THERMAL_SHAPE, 18.0, device=DEVICE)
        self.gas = torch.full(GAS_SHAPE, 900.0, device=DEVICE)
        self.fan = 0.5
        self.mist = 0.5

    def advance(self):
        self.heat += 0.02 * torch.randn_like(self.heat) + 0.01 * (0.5 - self.mist)
        self.gas += 6.0 * torch.rand_like(self.gas) - 6.0 * self.fan
        self.gas.clamp_(400.0, 3000.0)


class ThermalCamera:
    def __init__(self, hall):
        self.hall = hall

    def shoot(self):
        return self.hall.heat + 0.1 * torch.randn(THERMAL_SHAPE, device=DEVICE)


class GasScanner:
    def __init__(self, hall):
        self.hall = hall

    def sweep(self):
        return self.hall.gas * (1 + 0.02 * torch.randn(GAS_SHAPE, device=DEVICE))  # grows


def trim(history, depth):
    """Brings a history down to its newest `depth` passes."""
    history = history[-depth:]


class Recorder:
    """The passes that the controller may look back on."""

    def __init__(self):
        self.frames = collections.deque(maxlen=TREND_PASSES)
        self.plumes = []

    def record(self, frame, plume):
        self.frames.append(frame)
        self.plumes.append(plume)  # keeps
        trim(self.plumes, DRAUGHT_PASSES)

    def trend(self):
        """Warming of each bed over the frames at hand, in degrees."""
        oldest, newest = self.frames[0], self.frames[-1]
        change = (newest - oldest).reshape(BEDS, -1)
        return change.mean(dim=1)

    def draught(self):
        """How strongly the gas has moved over the last few seconds."""
        recent = self.plumes[-DRAUGHT_PASSES:]
        steps = [(after - before).abs().mean() for before, after in zip(recent[::8], recent[8::8])]
        return torch.stack(steps).mean().item() if steps else 0.0


class Controller:
    def __init__(self, hall, recorder):
        self.hall = hall
        self.recorder = recorder

    def adjust(self):
        warming = self.recorder.trend().mean().item()
        draught = self.recorder.draught()
        level = self.recorder.plumes[-1].mean().item()
        self.hall.mist = min(1.0, max(0.0, self.hall.mist + 0.2 * warming))
        self.hall.fan = min(1.0, max(0.0, self.hall.fan + (level - 1000.0) / 4000.0 - draught / 1e4))
        return warming, draught, level


def main():
    torch.manual_seed(1650)
    torch.set_num_threads(1)
    hall = Hall()
    camera, scanner = ThermalCamera(hall), GasScanner(hall)
    recorder = Recorder()
    controller = Controller(hall, recorder)
    passes = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        hall.advance()
        recorder.record(camera.shoot(), scanner.sweep())
        passes += 1
        if passes % 4 == 0:
            warming, draught, level = controller.adjust()
        if passes % (4 * PASSES_A_SECOND) == 0:
            print(f"pass {passes}: warming {warming:+.3f} K, draught {draught:.1f}, gas {level:.0f} ppm, "
                  f"fan {hall.fan:.2f}, mist {hall.mist:.2f}", flush=True)
        due = max(due + 1 / PASSES_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"shift over after {passes} passes", flush=True)


if __name__ == "__main__":
    main()
