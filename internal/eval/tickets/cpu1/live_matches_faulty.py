"""An asyncio service shows football matches as they are played: viewers come, get the page of the match so far, then
each event as it happens, and go. A viewer is told of events by a callback it leaves with the ticker, and forgets to
take back on going.

ticket: practice
class: host-growth
holder: listeners ticker page
cause: callbacks-left
"""

import asyncio
import json
import os
import random
import time
from collections import deque

PLAYERS = [f"{first} {last}" for first in ("Ada", "Ben", "Cleo", "Dov", "Eva") for last in ("Hart", "Imre", "Jost")]
KINDS = ("pass", "shot", "foul", "corner", "throw-in", "save", "goal")


class Ticker:
    """The events of one match, and who wants to hear of them."""

    def __init__(self, name):
        self.name, self.listeners = name, []
        self.events, self.number = deque(maxlen=1500), 0

    def subscribe(self, callback):
        self.listeners.append(callback)  # keeps

    def unsubscribe(self, callback):
        self.listeners.remove(callback)

    def publish(self, event):
        self.events.append(event)
        self.number += 1
        for callback in list(self.listeners):
            callback(event)

    def happen(self):
        self.publish({"number": self.number, "minute": self.number // 20, "kind": random.choice(KINDS),
                      "player": random.choice(PLAYERS), "at": [random.randint(0, 105), random.randint(0, 68)]})


class Viewer:
    """One open page."""

    def __init__(self, ticker):
        self.ticker, self.page, self.news, self.got = ticker, "", asyncio.Event(), 0
        self.last = None

    def render(self):
        rows = [f"<tr class='{event['kind']}'><td>{event['minute']}'</td><td>{event['player']}</td>"
                f"<td data-at='{json.dumps(event['at'])}'>{event['kind']}</td></tr>" for event in self.ticker.events]
        self.page = f"<h1>{self.ticker.name}</h1><table>" + "\n".join(reversed(rows)) + "</table>"  # grows

    def on_event(self, event):
        self.last, self.got = event, self.got + 1
        self.news.set()

    async def watch(self, leave):
        """Stays until the time to leave, and tells how many bytes were sent."""
        self.render()
        sent = len(self.page.encode())
        self.ticker.subscribe(self.on_event)
        while time.time() < leave:
            try:
                await asyncio.wait_for(self.news.wait(), max(leave - time.time(), 0.01))
            except asyncio.TimeoutError:
                break
            self.news.clear()
            sent += len(json.dumps(self.last))
        return sent


async def play(ticker, end):
    while time.time() < end:
        ticker.happen()
        await asyncio.sleep(random.expovariate(1 / 0.15))


async def visitor(tickers, end, tally):
    while time.time() < end:
        leave = min(time.time() + random.uniform(0.3, 2.5), end)
        tally["sent"] += await Viewer(random.choice(tickers)).watch(leave)
        tally["visits"] += 1
        await asyncio.sleep(random.uniform(0, 0.5))


async def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    tickers, tally = [Ticker("Rovers - United"), Ticker("Harbour - Athletic")], {"visits": 0, "sent": 0}
    for ticker in tickers:
        for _ in range(1500):
            ticker.happen()
    work = [asyncio.create_task(play(ticker, end)) for ticker in tickers]
    work += [asyncio.create_task(visitor(tickers, end, tally)) for _ in range(35)]
    while time.time() < end:
        await asyncio.sleep(2)
        print(tally["visits"], "visits", tally["sent"] >> 10, "KiB sent", flush=True)
    await asyncio.gather(*work)


if __name__ == "__main__":
    asyncio.run(main())
