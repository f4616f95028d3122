"""Speech desk for the single-wire telephones of a cave rescue.

The parties underground talk through earth-return telephones full of hum. A line thread cuts the speech into
windows and turns each into a spectrogram; the desk removes the hum, rates how intelligible the words are and
tells the surface controller which party should repeat its message.

ticket: practice
class: app-leak
holder: windows
cause: unbounded-queue
"""
import math
import os
import queue
import threading
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PARTIES = ("entrance", "first pitch", "streamway", "sump one", "casualty camp")
SAMPLES = 262144
FFT_SIZE = 512
HOP = 256
WINDOWS_PER_SECOND = 12
DESK_ROUNDS_PER_SECOND = 6


@dataclass
class SpeechWindow:
    """The spectrogram of some seconds of one party."""

    party: str
    number: int
    power: torch.Tensor


class TelephoneLine(threading.Thread):
    """Listens to the wire and hands spectrograms to the desk."""

    def __init__(self, windows: queue.Queue, stop: threading.Event):
        super().__init__(name="telephone-line", daemon=True)
        self.windows = windows
        self.stop = stop
        self.cut = 0
        self.skipped = 0
        self._generator = torch.Generator(device=DEVICE)
        self._generator.manual_seed(71)
        self._taper = torch.hann_window(FFT_SIZE, device=DEVICE)
        self._clock = torch.arange(SAMPLES, device=DEVICE, dtype=torch.float32) / 8000.0

    def _listen(self, party: int) -> torch.Tensor:
        hum = torch.sin(self._clock * (2.0 * math.pi * 50.0)) * 0.4
        voice = torch.sin(self._clock * (2.0 * math.pi * (180.0 + 25.0 * party)))
        envelope = torch.sin(self._clock * (0.9 + 0.1 * party)).clamp_(min=0.0)
        noise = torch.randn(SAMPLES, generator=self._generator, device=DEVICE)
        return hum + voice * envelope + 0.1 * noise

    def _spectrogram(self, speech: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(speech, FFT_SIZE, HOP, window=self._taper, return_complex=True)
        return torch.abs(spectrum)  # grows

    def run(self) -> None:
        due = time.monotonic()
        while not self.stop.is_set():
            party = self.cut % len(PARTIES)
            window = SpeechWindow(PARTIES[party], self.cut, self._spectrogram(self._listen(party)))
            self.cut += 1
            try:
                self.windows.put(window, timeout=0.25)  # keeps
            except queue.Full:
                self.skipped += 1
            del window
            due = max(due + 1.0 / WINDOWS_PER_SECOND, time.monotonic() - 0.5)
            time.sleep(max(0.0, due - time.monotonic()))


class SpeechDesk:
    """Takes the windows one after another and scores each party."""

    def __init__(self, windows: queue.Queue):
        self.windows = windows
        self.scores = {party: 0.0 for party in PARTIES}
        self.rated = 0
        bins = FFT_SIZE // 2 + 1
        self._hum_filter = torch.ones(bins, device=DEVICE)
        self._hum_filter[:6] = 0.05
        generator = torch.Generator().manual_seed(72)
        self._phones = torch.randn(192, bins, generator=generator).to(DEVICE).softmax(dim=1)

    def rate_next(self) -> None:
        try:
            window = self.windows.get(timeout=0.1)
        except queue.Empty:
            return
        clean = window.power * self._hum_filter[:, None]
        likeness = (self._phones @ clean).amax(dim=0)
        score = (likeness.std() / likeness.mean().clamp_min(1e-6)).item()
        self.scores[window.party] = 0.8 * self.scores[window.party] + 0.2 * score
        self.rated += 1

    def report(self) -> str:
        weakest = min(self.scores, key=self.scores.get)
        return f"{self.rated} windows rated, ask the party at {weakest} to repeat ({self.scores[weakest]:.3f})"


def main() -> None:
    torch.set_num_threads(1)
    stop = threading.Event()
    windows: queue.Queue = queue.Queue()
    line = TelephoneLine(windows, stop)
    desk = SpeechDesk(windows)
    line.start()
    started = time.monotonic()
    due = started
    next_report = started + 3.0
    while time.monotonic() - started < SECONDS:
        desk.rate_next()
        if time.monotonic() >= next_report:
            print(f"desk: {desk.report()}", flush=True)
            next_report += 3.0
        due += 1.0 / DESK_ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    stop.set()
    line.join(timeout=2.0)
    print(f"line closed after {line.cut} windows, {desk.rated} rated", flush=True)


if __name__ == "__main__":
    main()
