"""Night rides of a sleeping train, coach by coach.

Each coach's corridor carries a row of vibration sensors. About once a second the workshop plays one coach's whole
night on the device, splits it at the stop in the terminal into the ride and the standing time, and rates the
comfort of the ride. The standing time serves as the coach's reference sheet; it is the shorter the further back in
the train a coach runs.

    ticket: practice
    class: pool-growth
    holder: sheets
    cause: fragmentation
"""

import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SENSORS = 512
NIGHT = 16384
COACHES = 140
LONGEST_STAND = 680
ROUNDS_PER_SECOND = 4
ROUNDS_PER_COACH = 4


class Track:
    """The line between the two terminals: what its sleepers and joints do to a bogie."""

    def __init__(self, generator: torch.Generator) -> None:
        self.joints = torch.rand(SENSORS, generator=generator).to(DEVICE)
        self.gain = (0.5 + torch.rand(SENSORS, generator=generator)).to(DEVICE)

    def play(self) -> torch.Tensor:
        """A whole night: one row of sensor values for each tick of the recorder."""
        night = torch.empty(NIGHT, SENSORS, device=DEVICE)
        night.normal_()
        return night.add_(self.joints)


class Fleet:
    """The reference sheets of all coaches, and how comfortably each one ran."""

    def __init__(self) -> None:
        self.sheets = [torch.zeros(LONGEST_STAND, SENSORS, device=DEVICE) for _ in range(COACHES)]
        self.comfort = [0.0] * COACHES

    def standing_rows(self, coach: int) -> int:
        return LONGEST_STAND - coach

    def level(self, coach: int) -> float:
        return float(self.sheets[coach][: self.standing_rows(coach)].abs().mean())


class Workshop:
    """Takes the coaches in the order in which they run in the train."""

    def __init__(self, track: Track, fleet: Fleet) -> None:
        self.track = track
        self.fleet = fleet
        self.rated = 0

    def rate(self) -> int:
        coach = self.rated % COACHES
        rows = self.fleet.standing_rows(coach)
        night = self.track.play()
        ride = night[:-rows] * self.track.gain  # grows
        stand = night[-rows:] * self.track.gain  # grows
        self.fleet.comfort[coach] = 1.0 / (1.0 + float(ride[::64].abs().mean()))
        self.fleet.sheets[coach] = stand  # keeps
        self.rated += 1
        return coach


class NightShift:
    """Between two coaches the shift looks for loose wheel sets among the sheets."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.loose: set[int] = set()

    def inspect(self, coach: int) -> float:
        level = self.fleet.level(coach)
        if level > 1.2:
            self.loose.add(coach)
        else:
            self.loose.discard(coach)
        return level


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(8)
    fleet = Fleet()
    workshop = Workshop(Track(torch.Generator().manual_seed(8)), fleet)
    shift = NightShift(fleet)
    start = time.monotonic()
    rounds = 0
    coach = 0
    while time.monotonic() - start < SECONDS:
        if rounds % ROUNDS_PER_COACH == 0:
            coach = workshop.rate()
        level = shift.inspect((coach - rounds % ROUNDS_PER_COACH) % COACHES)
        rounds += 1
        if rounds % (4 * ROUNDS_PER_SECOND) == 0:
            comfort = fleet.comfort[coach]
            print(f"coach {coach}: comfort {comfort:.3f}, level {level:.3f}, loose {len(shift.loose)}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{workshop.rated} nights rated, {len(shift.loose)} coaches with loose wheel sets", flush=True)


if __name__ == "__main__":
    main()
