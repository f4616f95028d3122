"""Books the coaching rooms of an opera house and follows the singers in them.
A session works through the pages of a part for a few seconds; every second one moves to the stage halfway, for the
acoustics there. Beside it the house keeps the readings of the hall's microphones of the last eighteen seconds.

ticket: practice
class: app-leak
holder: _open
cause: sessions-kept
"""
import os
import time
from collections import deque

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_S = 5
SESSION_ROUNDS = 15
MOVE_AFTER = 7
READINGS_S = 18.0
ROOMS = ("Gold room", "Mirror room", "Attic", "Cellar")


@jax.jit
def rehearse(part, hall, strictness):
    """One run through the part: it comes nearer to what the hall gives back."""
    echo = jnp.tanh(part @ hall)
    return part + strictness * (echo - part)


@jax.jit
def accord(part, reading):
    return jnp.mean(jnp.abs(part[:256, :512] - reading))


class Session:
    def __init__(self, singer, room, part):
        self.singer = singer
        self.room = room
        self.part = part
        self.rounds = 0
        self.accord = 0.0

    @property
    def slot(self):
        return (self.room, self.singer)

    def work(self, hall, reading):
        self.part = rehearse(self.part, hall, 0.05)  # grows
        self.rounds += 1
        self.accord = accord(self.part, reading)


class House:
    """The rooms with the sessions that take place in them."""

    def __init__(self, seed):
        self._key = jax.random.PRNGKey(seed)
        self._open = {}
        self._hall = jax.random.normal(self._next_key(), (1024, 1024)) / 32.0
        self._singers = 0
        self.finished = 0
        self.last_accord = 0.0

    def _next_key(self):
        self._key, key = jax.random.split(self._key)
        return key

    def admit(self):
        self._singers += 1
        part = jax.random.normal(self._next_key(), (512, 1024))
        session = Session(self._singers, ROOMS[self._singers % len(ROOMS)], part)
        self._open[session.slot] = session  # keeps
        return session

    def move_to_stage(self, session):
        session.room = "Stage"
        self._open[session.slot] = session

    def finish(self, session):
        del self._open[session.slot]
        self.last_accord = float(session.accord)
        self.finished += 1

    def listen(self):
        return jax.random.normal(self._next_key(), (256, 512))

    def rehearse(self, timetable, reading):
        for session in list(timetable):
            session.work(self._hall, reading)
            if session.rounds == MOVE_AFTER and session.singer % 2 == 0:
                self.move_to_stage(session)
            if session.rounds >= SESSION_ROUNDS:
                timetable.remove(session)
                self.finish(session)


class Microphones:
    """Readings of the hall by time."""

    def __init__(self):
        self._readings = deque()

    def take(self, reading):
        now = time.monotonic()
        self._readings.append((now, reading))
        while now - self._readings[0][0] > READINGS_S:
            self._readings.popleft()

    def loudness(self):
        latest = [reading for _, reading in list(self._readings)[-8:]]
        return sum(float(jnp.abs(reading).mean()) for reading in latest) / len(latest)


def main():
    house, microphones = House(seed=1843), Microphones()
    timetable = []
    start = time.monotonic()
    tick = start
    said = start
    while time.monotonic() - start < SECONDS:
        reading = house.listen()
        microphones.take(reading)
        timetable.append(house.admit())
        house.rehearse(timetable, reading)
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(
                f"{said - start:5.1f} s: {house.finished} sessions done, {len(timetable)} at work, "
                f"accord {house.last_accord:.3f}, hall {microphones.loudness():.3f}",
                flush=True,
            )
        tick += 1.0 / ROUNDS_PER_S
        time.sleep(max(0.0, tick - time.monotonic()))
    print(f"house closed after {house.finished} sessions", flush=True)


if __name__ == "__main__":
    main()
