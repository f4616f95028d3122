"""Gateway for the collars of a dairy herd.

When the herd walks past the reader on its way to the parlour, the collars hand over what their accelerometers have
recorded. The gateway opens a visit for each collar, checks the signal, counts rumination and steps, and answers with
a short verdict. Groups of cows pass together; between two groups the lane is empty for a few seconds.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
AXES = 6
SAMPLES = 114688
GROUP = 24
PASSING_INTERVAL = 0.05
FAINT_LEVEL = 0.35
BANDS = ((40, 400), (400, 1600), (1600, 6000))


@dataclass
class Upload:
    """What one collar sends: its number and where in the day its record begins."""
    collar: int
    offset: int
    gain: float


@dataclass
class Verdict:
    collar: int
    state: str
    rumination: float = 0.0
    steps: int = 0


class MotionBank:
    """Recorded movements from which the radio link takes what a collar has seen."""

    def __init__(self, kinds=16):
        self.records = torch.randn(kinds, AXES, SAMPLES, device=DEVICE)
        self.records[:, :, ::512] += 2.0

    def receive(self, upload):
        record = self.records[upload.collar % len(self.records)]
        return torch.roll(record, upload.offset, dims=1) * upload.gain


class CollarGateway:
    """Opens a visit for each upload and answers it."""

    def __init__(self, bank):
        self.bank = bank
        self._visits = {}
        self._serial = 0
        self.answered = 0
        self.faint = 0

    def open_visit(self, upload):
        self._serial += 1
        ticket = (upload.collar, self._serial)
        self._visits[ticket] = self.bank.receive(upload)
        return ticket

    def close_visit(self, ticket):
        self._visits.pop(ticket, None)
        self.answered += 1

    def handle(self, upload):
        ticket = self.open_visit(upload)
        if self.level(ticket) < FAINT_LEVEL:
            self.faint += 1
            self.close_visit(ticket)
            return Verdict(upload.collar, "faint")
        verdict = Verdict(upload.collar, "ok", self.rumination(ticket), self.steps(ticket))
        self.close_visit(ticket)
        return verdict

    def level(self, ticket):
        return float(self._visits[ticket][0].std())

    def rumination(self, ticket):
        power = torch.fft.rfft(self._visits[ticket][:2], dim=1).abs().square().mean(dim=0)
        shares = [float(power[low:high].mean()) for low, high in BANDS]
        return shares[0] / sum(shares)

    def steps(self, ticket):
        vertical = self._visits[ticket][2]
        high = vertical > vertical.mean() + 2.5 * vertical.std()
        return int((high[1:] & ~high[:-1]).sum())


class Lane:
    """The cows of the herd as they come along, in groups."""

    def __init__(self, herd=180, seed=7):
        self.chance = random.Random(seed)
        self.herd = herd
        self.passed = 0

    def group(self):
        for _ in range(GROUP):
            self.passed += 1
            far = self.passed % 3 == 0
            gain = self.chance.uniform(0.1, 0.25) if far else self.chance.uniform(0.8, 1.3)
            yield Upload(self.chance.randrange(self.herd), self.chance.randrange(SAMPLES), gain)

    def pause(self):
        return self.chance.uniform(2.0, 4.0)


def main():
    torch.manual_seed(12)
    gateway = CollarGateway(MotionBank())
    lane = Lane()
    end = time.monotonic() + SECONDS
    groups = 0
    while time.monotonic() < end:
        verdicts = []
        due = time.monotonic()
        for upload in lane.group():
            verdicts.append(gateway.handle(upload))
            due += PASSING_INTERVAL
            time.sleep(max(0.0, due - time.monotonic()))
        groups += 1
        clear = [verdict for verdict in verdicts if verdict.state == "ok"]
        print(f"group {groups}: {len(clear)} of {len(verdicts)} clear, rumination "
              f"{sum(v.rumination for v in clear) / len(clear):.3f}, steps {sum(v.steps for v in clear)}", flush=True)
        time.sleep(max(0.0, min(lane.pause(), end - time.monotonic())))
    print(f"{lane.passed} collars passed, {gateway.faint} of them faint", flush=True)


if __name__ == "__main__":
    main()
