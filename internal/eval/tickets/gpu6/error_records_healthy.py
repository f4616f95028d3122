"""A service that separates sounds logs failed clips with their exception. A handler keeps the last records for a page
of recent errors, as text and without their traceback.

ticket: mloda-ai/mloda#993
class: none
"""

import collections
import logging
import os
import random
import time

import torch

log = logging.getLogger("separate")


class RecentErrors(logging.Handler):
    """What the status page shows."""

    def __init__(self, level=logging.ERROR):
        super().__init__(level)
        self.recent = collections.deque(maxlen=500)

    def emit(self, record):
        record.msg, record.args = self.format(record), None
        record.exc_info = None
        self.recent.append(record)

    def page(self):
        return [f"{record.levelname} {record.getMessage()}" for record in list(self.recent)[-10:]]


class Separator(torch.nn.Module):
    def __init__(self, bins=513, width=128, sources=2):
        super().__init__()
        self.rnn = torch.nn.GRU(bins, width, batch_first=True)
        self.masks = torch.nn.Linear(width, bins * sources)
        self.sources = sources

    def forward(self, magnitude):
        hidden, _ = self.rnn(magnitude.transpose(1, 2))
        masks = torch.sigmoid(self.masks(hidden)).unflatten(2, (self.sources, -1))
        return masks.permute(0, 2, 3, 1)


class Service:
    def __init__(self, device):
        self.device = device
        self.model = Separator().to(device).eval()
        self.window = torch.hann_window(1024, device=device)

    @torch.inference_mode()
    def separate(self, clip, name):
        wave = torch.nn.functional.pad(clip, (0, -clip.shape[-1] % 30000)).to(self.device)  # few plans for FFTs
        spectrum = torch.stft(wave, 1024, 256, window=self.window, return_complex=True)
        masks = self.model(spectrum.abs())
        loudest = float(spectrum.abs().amax())
        if loudest > 90 or clip.shape[-1] < 1024 * 12:
            raise ValueError(f"{name} is clipped or too short: {loudest:.1f}")
        parts = masks * spectrum[:, None]
        waves = [torch.istft(part, 1024, 256, window=self.window) for part in parts.unbind(1)]
        return torch.stack(waves).cpu()


def clips(end):
    number = 0
    while time.time() < end:
        for _ in range(random.randint(1, 6)):
            number += 1
            clip = torch.randn(1, random.randint(8000, 90000))
            yield f"clip{number:05d}", clip * (1.7 if random.random() < 0.3 else 0.8)
            time.sleep(random.uniform(0.02, 0.15))
        time.sleep(random.choice([0.1, 0.1, 0.8]))


def main():
    torch.set_num_threads(1)
    errors = RecentErrors()
    log.addHandler(errors)
    log.propagate = False
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service, done = Service("cuda" if torch.cuda.is_available() else "cpu"), 0
    for name, clip in clips(end):
        try:
            service.separate(clip, name)
            done += 1
        except ValueError:
            log.exception("could not separate %s", name)
        if done % 50 == 49:
            print(done, *errors.page(), sep="\n", flush=True)


if __name__ == "__main__":
    main()
