"""Booking desk of a night train with couchettes.

Passengers write to the desk in bursts, whenever a connecting train has arrived. For each of them the desk scores
every berth of the train against the passenger's wishes, offers the best one, and waits for the answer: the
passenger takes the berth, asks for another one, or declines and sits in the coach instead.

    ticket: practice
    class: app-leak
    holder: _talks
    cause: sessions-kept
"""

import heapq
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
COACHES = 12
BERTHS_PER_COACH = 60
BERTHS = COACHES * BERTHS_PER_COACH
TRAITS = 896
ROUNDS_PER_SECOND = 20
BURST_PASSENGERS = 20
DECLINE_SHARE = 0.3


class BerthModel:
    """What is known of the berths: noise, height, draught, distance to the doors, and many more traits."""

    def __init__(self) -> None:
        self.traits = torch.randn(BERTHS, TRAITS, device=DEVICE)
        self.habits = torch.randn(8000, TRAITS, device=DEVICE)

    def wishes_of(self, passenger: int) -> torch.Tensor:
        return self.habits[passenger % len(self.habits)]


class Talk:
    """The talk with one passenger, from the first message to the end."""

    def __init__(self, number: int, model: BerthModel) -> None:
        self.number = number
        self.match = torch.mul(model.traits, model.wishes_of(number))  # grows
        self.refused: list[int] = []

    def offer(self) -> int:
        scores = self.match.sum(dim=1)
        if self.refused:
            scores[torch.tensor(self.refused, device=DEVICE)] = float("-inf")
        return int(scores.argmax())


class BookingDesk:
    """Leads the talks with the passengers and keeps the count of the berths sold."""

    def __init__(self, model: BerthModel) -> None:
        self.model = model
        self.sold = [0] * BERTHS
        self.declined = 0
        self._talks: dict[int, Talk] = {}

    def open(self, number: int) -> int:
        talk = Talk(number, self.model)
        self._talks[number] = talk  # keeps
        return talk.offer()

    def another(self, number: int, berth: int) -> int:
        talk = self._talks[number]
        talk.refused.append(berth)
        return talk.offer()

    def take(self, number: int, berth: int) -> None:
        talk = self._talks.pop(number)
        self.sold[berth] += 1 + len(talk.refused) // 4

    def decline(self, number: int, berth: int) -> None:
        talk = self._talks[number]
        talk.refused.append(berth)
        self.declined += 1


class Platform:
    """The passengers: when they write, and how they answer to an offer."""

    def __init__(self, desk: BookingDesk, rng: random.Random) -> None:
        self.desk = desk
        self.rng = rng
        self.answers: list[tuple[float, int, int]] = []
        self.arrivals: list[float] = []
        self.next_burst = 0.3
        self.passengers = 0

    def plan_burst(self, now: float) -> None:
        offsets = sorted(self.rng.uniform(0.0, 1.2) for _ in range(BURST_PASSENGERS))
        self.arrivals = [now + offset for offset in offsets]
        self.next_burst = now + 1.5 + self.rng.uniform(2.0, 5.0)

    def advance(self, now: float) -> None:
        if now >= self.next_burst:
            self.plan_burst(now)
        while self.arrivals and self.arrivals[0] <= now:
            self.arrivals.pop(0)
            self.passengers += 1
            berth = self.desk.open(self.passengers)
            heapq.heappush(self.answers, (now + self.rng.uniform(0.1, 0.3), self.passengers, berth))
        while self.answers and self.answers[0][0] <= now:
            _, number, berth = heapq.heappop(self.answers)
            mood = self.rng.random()
            if mood < DECLINE_SHARE:
                self.desk.decline(number, berth)
            elif mood < 0.5:
                berth = self.desk.another(number, berth)
                self.desk.take(number, berth)
            else:
                self.desk.take(number, berth)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(52)
    desk = BookingDesk(BerthModel())
    platform = Platform(desk, random.Random(52))
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        platform.advance(time.monotonic() - start)
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"passengers {platform.passengers}, sold {sum(desk.sold)}, declined {desk.declined}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"the train leaves with {sum(desk.sold)} berths sold", flush=True)


if __name__ == "__main__":
    main()
