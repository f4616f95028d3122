"""A tea broker takes bids by wire from buyers abroad while the auction runs.
Each buyer's call is a short session on a line; it carries audio frames and typed bids, and is sometimes
moved to a quieter line midway. A ticker beside it shows the last eighteen seconds of prices from other sale rooms.

ticket: practice
class: host-growth
holder: _on_line
cause: sessions-kept
"""
import itertools
import os
import random
import time
from collections import deque

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 15
TICKER_S = 18.0
REPORT_EVERY_S = 2.0
FRAME_BYTES = 8192
FRAMES_PER_CALL = 12
LINES_OPEN = 40
SHEETS_PER_ROOM = 4
SALE_ROOMS = ("Kolkata", "Colombo", "Mombasa", "Guwahati", "Limbe", "Chittagong")


class Call:
    """One buyer on one line, with what came over it."""

    def __init__(self, line, buyer):
        self.line = line
        self.buyer = buyer
        self.frames = []
        self.limit = 0.0

    def receive(self, frame, bid):
        self.frames.append(frame)
        self.limit = max(self.limit, bid)

    @property
    def finished(self):
        return len(self.frames) >= FRAMES_PER_CALL


class Exchange:
    """The broker's board: which call sits on which line."""

    def __init__(self):
        self._numbers = itertools.count(100)
        self._on_line = {}
        self.moved = 0

    def connect(self, buyer):
        call = Call(next(self._numbers), buyer)
        self._on_line[call.line] = call  # keeps
        return call

    def move(self, call):
        quieter = next(self._numbers)
        call.line = quieter
        self._on_line[quieter] = call
        self.moved += 1

    def hang_up(self, call):
        self._on_line.pop(call.line, None)


class Ticker:
    """Price sheets from the other rooms, as far back as the strip on the wall shows them."""

    def __init__(self, span_s):
        self._span_s = span_s
        self._sheets = deque()

    def show(self, now, room, sheet):
        self._sheets.append((now, room, sheet))
        while self._sheets[0][0] < now - self._span_s:
            self._sheets.popleft()

    def latest(self):
        return self._sheets[-1][1]


class WireRoom:
    def __init__(self, seed):
        self._rng = random.Random(seed)
        self._exchange = Exchange()
        self._ticker = Ticker(TICKER_S)
        self._attended = []
        self.bids = 0
        self.best = 0.0

    def _open_calls(self):
        while len(self._attended) < LINES_OPEN:
            self._attended.append(self._exchange.connect(f"buyer {self._rng.randrange(10_000)}"))

    def _attend(self, call):
        frame = self._rng.randbytes(FRAME_BYTES)  # grows
        bid = 2.0 + self._rng.betavariate(2, 5) * 6.0
        call.receive(frame, bid)
        self.bids += 1
        self.best = max(self.best, bid)
        if len(call.frames) == FRAMES_PER_CALL // 2 and self._rng.random() < 0.6:
            self._exchange.move(call)

    def _post_prices(self, now):
        for room in SALE_ROOMS * SHEETS_PER_ROOM:
            rows = [f"{room} lot {self._rng.randrange(100_000):05d} {self._rng.uniform(1, 9):.2f}\n"
                    for _ in range(12)]
            self._ticker.show(now, room, "".join(rows) * 30)

    def turn(self, now):
        self._open_calls()
        for call in self._attended:
            self._attend(call)
        for call in [call for call in self._attended if call.finished]:
            self._exchange.hang_up(call)
        self._attended = [call for call in self._attended if not call.finished]
        self._post_prices(now)

    def summary(self):
        return f"{self.bids} bids  best {self.best:.2f}  {self._exchange.moved} moved  last {self._ticker.latest()}"


def main():
    room = WireRoom(seed=1839)
    began = reported = time.monotonic()
    while (now := time.monotonic()) - began < SECONDS:
        room.turn(now)
        if now - reported >= REPORT_EVERY_S:
            print(f"{now - began:6.1f} s  {room.summary()}", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"sale over: {room.summary()}", flush=True)


if __name__ == "__main__":
    main()
