"""Monte Carlo forecast of a cross-country skiing relay.

Four skiers of a team follow one another over the same loop, two in classic and two in free technique. For each
forecast many courses of the day are drawn at once: snow, form and tactics of every leg vary, and a leg depends on
the place in which the team is handed over. The forecast room wants an even rhythm, so the interpreter is set up
once at the start.

ticket: practice
class: app-leak
holder: legs relay
cause: reference-cycle
"""
import gc
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 5
DRAWS = 2048
SECTORS = 48
TEAMS = ("Norway", "Sweden", "Finland", "Italy", "France", "Germany")
TECHNIQUES = ("classic", "classic", "free", "free")
BASE_SPEED = {"classic": 6.1, "free": 6.9}


class Course:
    """The loop, cut into sectors with a length and a gradient."""

    def __init__(self, generator):
        self.length = torch.full((SECTORS,), 7500.0 / SECTORS, device=DEVICE)
        slope = torch.randn(SECTORS, generator=generator, device=DEVICE) * 0.05
        self.gradient = slope - slope.mean()


class Leg:
    """One skier's part of the relay, for all draws together."""

    def __init__(self, relay, number, technique):
        self.relay = relay  # keeps
        self.number = number
        self.technique = technique
        noise = torch.randn(DRAWS, SECTORS, generator=relay.generator, device=DEVICE)
        self.speed = relay.strength * BASE_SPEED[technique] * torch.exp(0.04 * noise)  # grows

    def times(self, behind):
        course = self.relay.course
        climb = 1 - 2.5 * course.gradient
        chase = 1 + 0.02 * torch.tanh(behind / 30).unsqueeze(1)
        metres_per_second = self.speed * climb * chase
        return (course.length / metres_per_second.clamp(min=2.0)).sum(dim=1)

    def handover(self, clock, behind):
        self.relay.splits[self.number] = (clock.mean().item(), behind.mean().item())


class Relay:
    """A relay of one team against the clock of the favourite."""

    def __init__(self, team, strength, course, generator):
        self.team = team
        self.strength = strength
        self.course = course
        self.generator = generator
        self.splits = {}
        self.legs = [Leg(self, number, technique) for number, technique in enumerate(TECHNIQUES)]  # keeps

    def run(self, favourite):
        clock = torch.zeros(DRAWS, device=DEVICE)
        behind = torch.zeros(DRAWS, device=DEVICE)
        for leg in self.legs:
            clock = clock + leg.times(behind)
            behind = clock - favourite * (leg.number + 1) / len(TECHNIQUES)
            leg.handover(clock, behind)
        return self.finish(clock)

    def finish(self, clock):
        spread = clock.std().item()
        return clock, spread


class ForecastRoom:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.course = Course(self.generator)
        self.archive = torch.rand(64, DRAWS, SECTORS, generator=self.generator, device=DEVICE)
        self.strength = {team: 1.02 - 0.006 * rank for rank, team in enumerate(TEAMS)}
        self.favourite = 4550.0
        self.expected = {}

    def forecast(self, number):
        team = TEAMS[number % len(TEAMS)]
        snow = 0.995 + 0.01 * self.archive[number % 64].mean().item()
        relay = Relay(team, self.strength[team] * snow, self.course, self.generator)
        clock, spread = relay.run(self.favourite)
        self.expected[team] = (clock.median().item(), spread)
        self.favourite = min(median for median, _ in self.expected.values())

    def table(self):
        order = sorted(self.expected, key=lambda team: self.expected[team][0])
        return "  ".join(f"{team} {self.expected[team][0]:.0f} s" for team in order[:3])


def main():
    room = ForecastRoom(seed=1924)
    gc.collect()
    gc.freeze()
    gc.disable()
    started = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        room.forecast(number)
        if number % 15 == 0:
            print(f"forecast {number:4d}  {room.table()}", flush=True)
        number += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    print(f"{number} forecasts, podium: {room.table()}", flush=True)


if __name__ == "__main__":
    main()
