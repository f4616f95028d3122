"""Control room of a fire brigade that follows the heat of each incident on a grid of its district.

Calls come in at random, each opens an incident with its own heat field, and engines cool the field
until the officer in charge sends the stop message. Two calls for the same street are one fire: the
later incident is then merged with the earlier one.

ticket: practice
class: none
"""
import os
import random
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GRID = 448
STREETS = 9
ROUNDS_PER_SECOND = 8.0
STOP_BELOW = 0.08


class Incident:
    """One fire as the control room sees it."""

    def __init__(self, number: int, street: int, seat: tuple[int, int]):
        self.number = number
        self.street = street
        self.engines = 1
        self.heat = torch.zeros(1, 1, GRID, GRID, device=DEVICE)
        row, column = seat
        self.heat[0, 0, row:row + 40, column:column + 40] = 1.0

    def cool(self, kernel: torch.Tensor) -> float:
        spread = F.conv2d(self.heat, kernel, padding=1)
        self.heat.copy_(spread.mul_(1.0 - 0.11 * min(self.engines, 4)))
        return self.heat.amax().item()

    def take_in(self, other: "Incident") -> None:
        torch.maximum(self.heat, other.heat, out=self.heat)
        self.engines += other.engines


class IncidentIndex:
    """Incidents by number, for radio messages, and the open one of each street."""

    def __init__(self):
        self._by_number: dict[int, Incident] = {}
        self._by_street: dict[int, int] = {}

    def enter(self, incident: Incident) -> None:
        self._by_number[incident.number] = incident

    def claim(self, incident: Incident) -> None:
        self._by_street[incident.street] = incident.number

    def at_street(self, street: int) -> Incident | None:
        number = self._by_street.get(street)
        return None if number is None else self._by_number[number]

    def open_incidents(self) -> list[Incident]:
        return [self._by_number[number] for number in self._by_street.values()]

    def strike(self, incident: Incident) -> None:
        self._by_number.pop(incident.number, None)

    def vacate(self, incident: Incident) -> None:
        self._by_street.pop(incident.street, None)


class ControlRoom:
    def __init__(self, seed: int):
        self.index = IncidentIndex()
        self.dice = random.Random(seed)
        kernel = torch.tensor([[0.5, 1.0, 0.5], [1.0, 6.0, 1.0], [0.5, 1.0, 0.5]], device=DEVICE)
        self.kernel = (kernel / kernel.sum()).view(1, 1, 3, 3)
        self.calls = self.merged = self.stopped = 0

    def take_call(self) -> None:
        self.calls += 1
        seat = (self.dice.randrange(GRID - 40), self.dice.randrange(GRID - 40))
        incident = Incident(self.calls, self.dice.randrange(STREETS), seat)
        self.index.enter(incident)
        earlier = self.index.at_street(incident.street)
        if earlier is not None:
            self.merge(earlier, incident)
        else:
            self.index.claim(incident)

    def merge(self, earlier: Incident, later: Incident) -> None:
        earlier.take_in(later)
        self.merged += 1
        self.index.strike(later)

    def stop_message(self, incident: Incident) -> None:
        self.index.vacate(incident)
        self.index.strike(incident)
        self.stopped += 1

    def advance(self) -> float:
        hottest = 0.0
        for incident in self.index.open_incidents():
            peak = incident.cool(self.kernel)
            hottest = max(hottest, peak)
            if peak < STOP_BELOW:
                self.stop_message(incident)
        return hottest


@torch.no_grad()
def main() -> None:
    room = ControlRoom(seed=999)
    began = time.monotonic()
    next_report = began + 2.0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        for _ in range(room.dice.choice((0, 1, 1, 2, 3))):
            room.take_call()
        hottest = room.advance()
        if started >= next_report:
            tally = f"calls {room.calls}, merged {room.merged}, stopped {room.stopped}"
            print(f"{tally}, hottest {hottest:.2f}", flush=True)
            next_report = started + 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"watch handed over: {room.calls} calls, {room.stopped} stop messages", flush=True)


if __name__ == "__main__":
    main()
