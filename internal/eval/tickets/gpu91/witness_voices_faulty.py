"""Who is speaking in the courtroom: the voices of a hearing matched with the voices on the court's roll.

A court records its hearings with one microphone for each of eight places: judge, clerk, counsel, witnesses. The
recording of a hearing comes in as eight tracks. For each track the program takes the spectrum, lets a network make
a voice print of it, and looks the print up among four hundred that were enrolled before. The transcript then has
a name for each place. Answers have to come at an even pace, as the stenographer reads them on a screen.

ticket: practice
class: app-leak
holder: hearing speakers spectrum
cause: reference-cycle
"""
import gc
import math
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PLACES = ("judge", "clerk", "prosecution", "defence", "accused", "first witness", "second witness", "expert")
SAMPLES = 65536
WINDOW = 512
HOP = 64
ENROLLED = 400
BEAT = 0.4


class VoicePrint(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow = nn.Conv1d(WINDOW // 2 + 1, 96, 5, stride=4)
        self.wide = nn.Conv1d(96, 128, 5, stride=4)
        self.out = nn.Linear(128, 64)

    def forward(self, spectrum):
        x = F.relu(self.narrow(spectrum[None]))
        x = F.relu(self.wide(x))
        return F.normalize(self.out(x.mean(2)), dim=1)


class Speaker:
    """One place in the courtroom during one hearing."""

    def __init__(self, hearing, place, track):
        self.hearing = hearing  # keeps
        self.place = place
        self.track = track
        self.spectrum = None
        self.name = None

    def analyse(self, window):
        frames = torch.stft(self.track, WINDOW, HOP, window=window, return_complex=True)
        loud = self.hearing.loudness()
        self.spectrum = torch.log1p(frames.abs() / loud)  # grows

    def recognise(self, network, roll):
        likeness = network(self.spectrum) @ roll.t()
        score, number = likeness[0].max(0)
        self.name = f"roll {int(number)}"
        return float(score)


class Hearing:
    def __init__(self, case, tracks):
        self.case = case
        self.tracks = tracks
        self.speakers = [Speaker(self, place, track) for place, track in zip(PLACES, tracks)]

    def loudness(self):
        return self.tracks.abs().mean() + 1e-4

    def transcribe(self, network, roll, window):
        sure = 0.0
        for speaker in self.speakers:
            speaker.analyse(window)
            sure += speaker.recognise(network, roll)
        return sure / len(self.speakers), {speaker.place: speaker.name for speaker in self.speakers}


class Recorder:
    """Stands in for the microphones: a pitch with overtones for each place, and the noise of the room."""

    def __init__(self):
        self.seconds = torch.arange(SAMPLES, device=DEVICE) / 16000.0

    def record(self):
        pitch = 90.0 + 140.0 * torch.rand(len(PLACES), 1, device=DEVICE)
        phase = 2 * math.pi * pitch * self.seconds[None]
        voice = phase.sin() + 0.5 * (2 * phase).sin() + 0.25 * (3 * phase).sin()
        breath = (0.5 + 0.5 * (phase / 60).sin()).clamp(min=0.1)
        return voice * breath + 0.1 * torch.randn(len(PLACES), SAMPLES, device=DEVICE)


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    network = VoicePrint().to(DEVICE).eval()
    roll = F.normalize(torch.randn(ENROLLED, 64, device=DEVICE), dim=1)
    window = torch.hann_window(WINDOW, device=DEVICE)
    recorder = Recorder()
    gc.collect()
    gc.freeze()
    gc.disable()
    case = 0
    while time.time() < end:
        began = time.time()
        case += 1
        sure, names = Hearing(case, recorder.record()).transcribe(network, roll, window)
        if case % 10 == 0:
            print(f"case {case}: the judge is {names['judge']}, likeness {sure:.3f} over the room", flush=True)
        time.sleep(max(0.0, BEAT - (time.time() - began)))
    print(f"{case} hearings transcribed", flush=True)


if __name__ == "__main__":
    main()
