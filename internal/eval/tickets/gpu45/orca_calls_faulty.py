"""Four hydrophones record the calls of orcas, each as long as it lasts. A call that is known is looked for in each
recording with a matched filter, which is done by Fourier transform, and the place of the best match is reported for
each hydrophone.

ticket: practice
class: driver-growth
holder: -
cause: library-workspaces driver-memory-kept cache-without-bound
"""

import math
import os
import random
import time

import torch

PHONES, RATE, KNOWN = 4, 16_000, 4_000
SHORTEST, LONGEST = 34_000, 60_000

torch.manual_seed(9)
random.seed(9)
torch.set_num_threads(1)
torch.set_grad_enabled(False)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

# %% the known call: a whistle that rises

moments = torch.arange(KNOWN, device=device) / RATE
known = torch.sin(2 * math.pi * (900 * moments + 2500 * moments ** 2)) * torch.hann_window(KNOWN, device=device)
known = known / known.norm()


def record():
    """The next recording of all hydrophones. The call is in it more often than not, a little later at each of them."""
    length = random.randint(SHORTEST, LONGEST)
    sound = 0.05 * torch.randn(PHONES, length, device=device)
    if random.random() < 0.6:
        start = random.randrange(length - 2 * KNOWN)
        for phone in range(PHONES):
            late = start + 40 * phone
            sound[phone, late:late + KNOWN] += known
    return sound


def match(sound):
    """How well the known call fits at each place of the recording."""
    places = sound.shape[1] - KNOWN + 1
    size = sound.shape[1] + KNOWN - 1
    spectrum = torch.fft.rfft(sound, n=size)  # grows keeps
    pattern = torch.fft.rfft(known, n=size)  # grows keeps
    return torch.fft.irfft(spectrum * pattern.conj(), n=size)[:, :places]  # grows keeps


# %% listen

recordings = 0
found = 0
seconds = 0.0

while time.time() < end:
    sound = record()
    fit, place = match(sound).max(dim=1)
    recordings += 1
    seconds += sound.shape[1] / RATE
    if fit.min().item() > 0.5:
        found += 1
    if recordings % 10 == 0:
        delays = (place - place[0]).tolist()
        print(f"{recordings} recordings ({seconds:.0f} s), {found} calls, last delays {delays}", flush=True)
    time.sleep(random.uniform(0.25, 0.4))
