"""Ride quality on the guide rails of lift cabins. Shakes of the cabins are simulated on the device in windows;
each window is carried to the host beside the running work and judged there once it has come (root mean square
and worst jerk of the axes). A rail joint that stands proud shows as a cabin whose score climbs.

ticket: practice
class: none
"""
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

ON_GPU = DEVICE == "cuda"
PERIOD = 1.0 / 6.0
CABINS = ("A", "B", "C", "D", "E")
AXES = 4
SAMPLES = 65_536
JOINT_SPACING = 2_500


class CabinModel:
    """Shakes of a cabin: the rail's roughness, the joints, and a spring that damps both."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.rails = torch.randn(len(CABINS), 8, AXES, SAMPLES, generator=self.generator, device=DEVICE)
        joints = torch.zeros(SAMPLES, device=DEVICE)
        joints[::JOINT_SPACING] = 1.0
        self.joints = joints
        self.kernel = torch.exp(-torch.arange(31.0, device=DEVICE) / 6.0).view(1, 1, -1)

    @torch.no_grad()
    def window(self, cabin, trip):
        rail = self.rails[cabin, trip % 8]
        proud = 0.4 + 0.1 * cabin + 0.001 * (trip % 50)
        shake = rail * 0.05 + self.joints * proud
        damped = torch.nn.functional.conv1d(shake.unsqueeze(1), self.kernel, padding=15)
        return damped.squeeze(1)


class Transfer:
    """A window on its way to the host."""

    def __init__(self, cabin, window):
        self.cabin = cabin
        self.judged = False
        self.host = torch.empty(window.shape, dtype=window.dtype, pin_memory=ON_GPU)
        self.host.copy_(window, non_blocking=True)
        self.event = None
        if ON_GPU:
            self.event = torch.cuda.Event()
            self.event.record()

    def arrived(self):
        return self.event is None or self.event.query()


class RideDesk:
    """Takes windows in, judges those that have arrived, and keeps a score for each cabin."""

    def __init__(self):
        self._transfers = []
        self.score = dict.fromkeys(CABINS, 0.0)
        self.jerk = dict.fromkeys(CABINS, 0.0)
        self.count = 0

    def submit(self, cabin, window):
        self._transfers.append(Transfer(cabin, window))

    def collect(self):
        for transfer in self._transfers:
            if not transfer.judged and transfer.arrived():
                self.judge(transfer)
                transfer.judged = True
        self._transfers = [transfer for transfer in self._transfers if not transfer.judged]

    def judge(self, transfer):
        host = transfer.host
        rms = float(host.square().mean().sqrt())
        jerk = float(host.diff(dim=1).abs().max())
        cabin = transfer.cabin
        self.score[cabin] += 0.2 * (rms - self.score[cabin])
        self.jerk[cabin] = max(self.jerk[cabin], jerk)
        self.count += 1

    def worst(self):
        return max(self.score, key=self.score.get)


def main():
    model = CabinModel(seed=61)
    desk = RideDesk()
    began = time.monotonic()
    due = began
    shown = began
    turn = 0
    while time.monotonic() - began < SECONDS:
        cabin = turn % len(CABINS)
        desk.submit(CABINS[cabin], model.window(cabin, turn // len(CABINS)))
        desk.collect()
        turn += 1
        if time.monotonic() - shown >= 3.0:
            shown = time.monotonic()
            worst = desk.worst()
            print(
                f"{desk.count} windows judged; roughest ride in cabin {worst}: "
                f"{desk.score[worst]:.3f}, jerk {desk.jerk[worst]:.2f}",
                flush=True,
            )
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
    if ON_GPU:
        torch.cuda.synchronize()
    desk.collect()
    scores = ", ".join(f"{name} {value:.3f}" for name, value in desk.score.items())
    print(f"ride check over after {desk.count} windows: {scores}", flush=True)


if __name__ == "__main__":
    main()
