"""Server of star chart tiles for amateur observers.

The sky is divided into fields, and a tile is the list of the stars of one field down to a limiting magnitude, brought
to the equinox of the chart and written out as text. Observers page from field to field through the night; tiles are
drawn on demand, and those already drawn are handed out again.

ticket: practice
class: none
"""
import math
import os
import random
import time

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
REQUESTS_PER_ROUND = 20
FIELDS = 30
MAGNITUDES = (6.5, 9.0)
STARS_PER_FIELD = 520
EQUINOX_STEP = 25.0


class Star:
    __slots__ = ("name", "ra", "dec", "magnitude")

    def __init__(self, name, ra, dec, magnitude):
        self.name = name
        self.ra = ra
        self.dec = dec
        self.magnitude = magnitude


def make_catalogue(seed):
    rng = random.Random(seed)
    catalogue = []
    for field in range(FIELDS):
        centre = 360.0 * field / FIELDS
        stars = []
        for number in range(STARS_PER_FIELD):
            ra = (centre + rng.uniform(-6.0, 6.0)) % 360.0
            dec = rng.uniform(-20.0, 20.0)
            stars.append(Star(f"F{field:02d}-{number:04d}", ra, dec, min(9.0, 1.5 + rng.expovariate(0.22))))
        catalogue.append(stars)
    return catalogue


def precess(star, equinox):
    """Shifts of right ascension and declination since J2000, in degrees."""
    years = equinox - 2000.0
    alpha = math.radians(star.ra)
    shift_ra = (3.075 + 1.336 * math.sin(alpha) * math.tan(math.radians(star.dec))) * 15.0 * years / 3600.0
    shift_dec = 20.04 * math.cos(alpha) * years / 3600.0
    return (star.ra + shift_ra) % 360.0, star.dec + shift_dec


class TileServer:
    def __init__(self, catalogue):
        self.catalogue = catalogue
        self._drawn = {}
        self.drawn_count = 0
        self.handed_out = 0

    @staticmethod
    def chart_equinox(year):
        return max(2000.0, EQUINOX_STEP * round(year / EQUINOX_STEP))

    def draw(self, field, limit, equinox):
        rows = [f"field {field:02d} limit {limit:.1f} equinox J{equinox:.3f}"]
        for star in self.catalogue[field]:
            if star.magnitude > limit:
                continue
            ra, dec = precess(star, equinox)
            rows.append(f"{star.name} {ra:11.6f} {dec:+11.6f} {star.magnitude:5.2f} " + "." * int(10 - star.magnitude))
        self.drawn_count += 1
        return "\n".join(rows)

    def tile(self, field, limit, year):
        equinox = self.chart_equinox(year)
        key = (field, limit, equinox)
        text = self._drawn.get(key)
        if text is None:
            text = self.draw(field, limit, equinox)
            self._drawn[key] = text
        self.handed_out += 1
        return text


class Observers:
    """A few observers who page through the fields in turn."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.page = 0
        self.year = 2024.5

    def night_passes(self):
        self.year += self.rng.uniform(0.5, 1.5) / 8766.0

    def next_request(self):
        field = self.page % FIELDS
        limit = MAGNITUDES[(self.page // FIELDS) % len(MAGNITUDES)]
        self.page += 1
        return field, limit


def main():
    server = TileServer(make_catalogue(seed=1603))
    observers = Observers(seed=12)
    sent = 0
    start = time.monotonic()
    next_line = 2.5
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        observers.night_passes()
        for _ in range(REQUESTS_PER_ROUND):
            field, limit = observers.next_request()
            sent += len(server.tile(field, limit, observers.year))
        if elapsed >= next_line:
            print(f"{elapsed:6.1f}s year {observers.year:.4f} tiles handed out {server.handed_out} "
                  f"drawn {server.drawn_count} sent {sent / 2**20:.1f} MiB", flush=True)
            next_line += 2.5
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"night over: {server.handed_out} tiles handed out", flush=True)


if __name__ == "__main__":
    main()
