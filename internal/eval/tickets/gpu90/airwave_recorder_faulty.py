"""Records what a shortwave station receives, as cleaned spectra on tape.

Blocks of samples come from the receiver. Each is cut into windows and turned
into a power spectrum on the accelerator, the hum of the mains is taken out,
and the cleaned block goes to the tape drive, which a thread of its own looks
after: it packs a block, adds a checksum, and waits for the tape to have moved
on. A line now and then tells how many blocks were heard and the loudest
channel.

ticket: practice
class: host-growth
holder: tape_lane
cause: unbounded-queue
"""
import os
import queue
import threading
import time
import zlib

import torch

WINDOW = 1024
WINDOWS = 512
CHANNELS = WINDOW // 2


class TapeDrive(threading.Thread):
    """Takes blocks from the lane and puts them on tape."""

    def __init__(self, lane):
        super().__init__(name="tape drive", daemon=True)
        self.lane = lane
        self.halt = threading.Event()
        self.written = 0
        self.checksum = 0

    def run(self):
        while not self.halt.is_set():
            try:
                number, spectrum = self.lane.get(timeout=0.2)
            except queue.Empty:
                continue
            quiet = spectrum.astype("float16")
            self.checksum = zlib.crc32(quiet.tobytes(), self.checksum)
            self.halt.wait(0.12)
            self.written += 1


class Receiver:
    """The aerial's samples, and their way to clean spectra."""

    def __init__(self, device):
        self.device = device
        self.shape = torch.hann_window(WINDOW, device=device)
        self.time = torch.arange(WINDOW * WINDOWS, device=device, dtype=torch.float32) / 48000.0
        self.floor = torch.zeros(CHANNELS, device=device)

    def samples(self, number):
        tone = 1000.0 + 37.0 * (number % 200)
        hum = 0.5 * torch.sin(6.2832 * 50.0 * self.time)
        call = 0.2 * torch.sin(6.2832 * tone * self.time)
        return hum + call + 0.05 * torch.randn(WINDOW * WINDOWS, device=self.device)

    def spectrum(self, samples):
        windows = samples.view(WINDOWS, WINDOW) * self.shape
        power = torch.fft.rfft(windows, dim=1)[:, :CHANNELS].abs().square()
        self.floor = 0.9 * self.floor + 0.1 * power.median(dim=0).values
        clean = torch.log1p(torch.relu(power - 0.5 * self.floor))
        clean[:, :3] = 0.0
        return clean


class Recording:
    """Carries the blocks from the receiver to the tape."""

    def __init__(self, device):
        self.receiver = Receiver(device)
        self.tape_lane = queue.Queue()
        self.drive = TapeDrive(self.tape_lane)
        self.drive.start()
        self.heard = 0

    @torch.no_grad()
    def block(self):
        clean = self.receiver.spectrum(self.receiver.samples(self.heard))
        loudest = int(clean.mean(dim=0).argmax())
        on_host = clean.cpu().numpy()  # grows
        self.tape_lane.put((self.heard, on_host))  # keeps
        self.heard += 1
        return loudest

    def close(self):
        self.drive.halt.set()
        self.drive.join(timeout=2.0)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(71)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    recording = Recording(device)
    due = time.time()
    while time.time() < end:
        due = max(due + 0.05, time.time())
        loudest = recording.block()
        if recording.heard % 40 == 0:
            print(f"{recording.heard} blocks heard, loudest channel {loudest}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    recording.close()
    print(f"off the air, last checksum {recording.drive.checksum:08x}", flush=True)


if __name__ == "__main__":
    main()
