"""A strategy is tried with many settings by two processes. A process keeps the prices that it has loaded, under
the setting they were prepared for; the processes live as long as the trials.

ticket: mementum/backtrader#417
class: host-growth
holder: feeds
cause: cache-without-bound
"""

import array
import logging
import multiprocessing
import os
import random
import time

log = logging.getLogger("trials")
feeds = {}


def load(symbol, window):
    """The prices of a symbol, with their mean over a window."""
    key = symbol, window
    if key not in feeds:
        draw, price, prices = random.Random(symbol), 100.0, array.array("d")
        for _ in range(20000):
            price *= 1 + draw.gauss(0, 0.01)
            prices.append(price)
        means, total = array.array("d"), 0.0
        for number, value in enumerate(prices):
            total += value - (prices[number - window] if number >= window else 0.0)
            means.append(total / min(number + 1, window))
        feeds[key] = prices, means  # grows
    return feeds[key]


def trade(setting):
    symbol, window, edge = setting
    prices, means = load(symbol, window)
    cash, held = 1000.0, 0.0
    for price, mean in zip(prices, means):
        if price < mean * (1 - edge) and not held:
            cash, held = 0.0, cash / price
        elif price > mean * (1 + edge) and held:
            cash, held = held * price, 0.0
    time.sleep(random.choice([0.0, 0.02, 0.05]))
    return setting, cash + held * prices[-1]


def settings(end):
    while time.time() < end:
        yield random.choice("ABCDEFGH"), random.randint(5, 2000), random.choice([0.01, 0.02, 0.05])


def main():
    logging.basicConfig(level=logging.INFO)
    end, tried, best = time.time() + float(os.environ.get("SECONDS", "45")), 0, (None, 0.0)
    with multiprocessing.Pool(2) as pool:
        source = settings(end)
        while time.time() < end:
            batch = [next(source) for _ in range(8) if time.time() < end]
            for setting, worth in pool.imap_unordered(trade, batch):
                tried += 1
                best = max(best, (setting, worth), key=lambda found: found[1])
            if tried % 40 == 0:
                log.info("%d tried, best %s with %.0f", tried, *best)
            time.sleep(random.choice([0.1, 0.2, 0.5]))
        pool.close()
        pool.join()


if __name__ == "__main__":
    main()
