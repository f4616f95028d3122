"""Grading of comb honey at a market hall. A small convolution network looks at photographs of cut comb; every
stall brings its own lamp, so a grading session first lays the stall's lamp chart over what the network sees,
and notes how strongly the cells respond. Each session gives one grade for each comb on the table.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

PERIOD = 0.25
SIDE = 64
CHART_CHANNELS = 80
COMBS = 4
GRADES = ("extra", "first", "second", "kitchen")


class CombNet(nn.Module):
    """Looks at comb in two steps: the cells first, then a map of grades that is pooled over the picture."""

    def __init__(self):
        super().__init__()
        self.cells = nn.Conv2d(3, 12, 5, stride=4, padding=2)
        self.grade_map = nn.Conv2d(12, len(GRADES), 3, padding=1)
        self.catalogue = nn.Embedding(65536, 128)

    def forward(self, photo, origin):
        cells = torch.relu(self.cells(photo))
        prior = self.catalogue(origin)[:, : len(GRADES)]
        return self.grade_map(cells).mean(dim=(2, 3)) + 0.01 * prior


class LampChart:
    """Response of a stall's lamp, by channel and by place on the table."""

    def __init__(self, stall, generator):
        self.stall = stall
        self.gain = torch.rand(CHART_CHANNELS, SIDE, SIDE, generator=generator, device=DEVICE)
        self.level = float(self.gain[:3].mean())

    def over(self, photo):
        return photo * (0.5 + self.gain[:3].repeat_interleave(2, dim=1).repeat_interleave(2, dim=2))


class Session:
    """One stall's table: attached to the network while its combs are being graded."""

    def __init__(self, net, chart):
        self.net = net
        self.chart = chart
        self.response = 0.0
        self._handles = []

    def __enter__(self):
        self._handles.append(self.net.cells.register_forward_pre_hook(self._light))
        self._handles.append(self.net.grade_map.register_forward_hook(self._balance))
        return self

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _light(self, module, inputs):
        (photo,) = inputs
        lit = self.chart.over(photo)
        self.response = float(lit.std())
        return (lit,)

    def _balance(self, module, inputs, output):
        if self._handles:
            return output / (0.5 + self.chart.level)
        return output

    @torch.no_grad()
    def grade(self, photos, origin):
        scores = self.net(photos, origin)
        return [GRADES[i] for i in scores.argmax(dim=1).tolist()]


class Hall:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.net = CombNet().to(DEVICE).eval()
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed + 1)
        self.tally = dict.fromkeys(GRADES, 0)
        self.response = 0.0

    def photograph(self):
        photos = torch.rand(COMBS, 3, 2 * SIDE, 2 * SIDE, generator=self.generator, device=DEVICE)
        origin = torch.randint(0, 65536, (COMBS,), generator=self.generator, device=DEVICE)
        return photos, origin

    def serve(self, stall):
        chart = LampChart(stall, self.generator)
        with Session(self.net, chart) as session:
            for grade in session.grade(*self.photograph()):
                self.tally[grade] += 1
        self.response += 0.1 * (session.response - self.response)


def main():
    hall = Hall(seed=31)
    began = time.monotonic()
    due = began
    shown = began
    stall = 0
    while time.monotonic() - began < SECONDS:
        stall += 1
        hall.serve(stall)
        if time.monotonic() - shown >= 3.0:
            shown = time.monotonic()
            text = ", ".join(f"{name} {count}" for name, count in hall.tally.items())
            print(f"stall {stall}: {text}; response {hall.response:.3f}", flush=True)
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"hall closed after {stall} stalls, {sum(hall.tally.values())} combs graded", flush=True)


if __name__ == "__main__":
    main()
