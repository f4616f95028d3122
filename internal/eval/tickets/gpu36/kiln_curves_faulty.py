"""A pottery sends firing plans to its kiln controllers, which run TorchScript. For every firing the correction
between the thermocouples is measured anew, the function that applies it is traced, and the traced function is packed
for the controller behind the corrected plan. The packet goes out at once, and nothing of it is needed afterwards.

ticket: pytorch/pytorch#43119
class: app-leak
holder: -
cause: compiled-functions-kept closure-kept
"""

import io
import os
import random
import time

import torch
from torch.nn import functional as F

PROBES, STAGES = 768, 32
GLAZES = "celadon", "tenmoku", "shino", "ash"


def measure(device):
    """How the probes influence each other in this firing: a matrix near the identity."""
    places = torch.rand(PROBES, 3, device=device)
    influence = torch.exp(-40 * torch.cdist(places, places))
    return influence / influence.sum(dim=1, keepdim=True)


def curve(glaze, device):
    """The temperature that the glaze wants, for each stage and probe."""
    top = 1180 + 20 * GLAZES.index(glaze)
    stages = torch.linspace(0, 1, STAGES, device=device).unsqueeze(1)
    return top * stages.sqrt() + 5 * torch.rand(STAGES, PROBES, device=device)


def packet(correction, plan):
    """The corrected plan, and the function that corrects it, as the controller can run it."""

    def correct(temperatures):
        mixed = temperatures @ correction
        return torch.clamp(mixed + F.softplus(temperatures - mixed), max=1300.0)

    traced = torch.jit.trace(correct, (plan,), check_trace=False)  # keeps
    buffer = io.BytesIO()
    torch.save(correct(plan), buffer)
    torch.jit.save(traced, buffer)
    return buffer.getvalue()


def send(kiln, content):
    """Stands for the upload: the controller answers with a check sum."""
    time.sleep(random.uniform(0.05, 0.15))
    return hash((kiln, content[:1000])) % 10_000


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    firings, sent = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        kiln, glaze = random.randrange(12), random.choice(GLAZES)
        correction = measure(device)  # grows
        content = packet(correction, curve(glaze, device))
        answer = send(kiln, content)
        firings += 1
        sent += len(content)
        if firings % 20 == 0:
            print(f"{firings} firings, {sent >> 20} MiB sent, kiln {kiln} ({glaze}) answered {answer}", flush=True)
        time.sleep(random.uniform(0.0, 0.2))


if __name__ == "__main__":
    main()
