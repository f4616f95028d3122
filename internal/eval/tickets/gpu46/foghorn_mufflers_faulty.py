"""A network learns to remove the foghorn from recordings of a harbour, on their mel spectrograms. While one thread
trains, another listens to fresh recordings a few times a second and reports a moving average of the error.

ticket: practice
class: app-leak
holder: average Listener listener grad_fn
cause: uncut-autograd-graph
"""

import math
import os
import threading
import time

import torch
import torchaudio
from torch import nn

RATE, SECONDS_EACH, MELS, WIDTH, BATCH, DECAY = 16_000, 2, 64, 128, 6, 0.95


class Muffler(nn.Module):
    """Tells for each band and frame how much of it to let through."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(MELS, WIDTH, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(WIDTH, WIDTH, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(WIDTH, MELS, 5, padding=2),
        )

    def forward(self, bands):
        return bands * torch.sigmoid(self.layers(bands))


class Harbour:
    """Records the harbour with and without the foghorn."""

    def __init__(self, device):
        self.device = device
        self.mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=512, hop_length=160, n_mels=MELS).to(device)
        self.moments = torch.arange(RATE * SECONDS_EACH, device=device) / RATE

    def record(self):
        calm = 0.1 * torch.randn(BATCH, len(self.moments), device=self.device)
        pitch = 120 + 80 * torch.rand(BATCH, 1, device=self.device)
        horn = torch.sin(2 * math.pi * pitch * self.moments)
        return torch.log1p(self.mel(calm + horn)), torch.log1p(self.mel(calm))


class Listener(threading.Thread):
    def __init__(self, model, harbour, end):
        super().__init__()
        self.model, self.harbour, self.end = model, harbour, end
        self.average = 0.0

    def run(self):
        heard = 0
        while time.time() < self.end:
            noisy, calm = self.harbour.record()
            error = nn.functional.l1_loss(self.model(noisy), calm)  # grows
            self.average = DECAY * self.average + (1 - DECAY) * error  # keeps
            heard += 1
            if heard % 20 == 0:
                print(heard, f"heard, error {self.average:.4f}", flush=True)
            time.sleep(0.2)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, harbour, step = Muffler().to(device), Harbour(device), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    listener = Listener(model, harbour, end)
    listener.start()
    while time.time() < end:
        noisy, calm = harbour.record()
        loss = nn.functional.mse_loss(model(noisy), calm)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print("step", step, "loss", round(loss.item(), 4), flush=True)
        time.sleep(0.1)
    listener.join()


if __name__ == "__main__":
    main()
