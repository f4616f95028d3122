"""Prices come in every second or so. Each batch is joined to the table of all that came before.

ticket: common practice: pandas.concat in a loop
class: host-growth
holder: history feed table
cause: outgrown-blocks results-kept snapshots-kept
"""

import os
import random
import time

import numpy as np
import pandas as pd


class Feed:
    def __init__(self):
        self.history = pd.DataFrame()
        self.rows = 0

    def fetch(self):
        n = random.randint(3000, 5000)
        self.rows += n
        return pd.DataFrame({"symbol": np.random.choice(["AAA", "BBB", "CCC"], n), "price": np.random.rand(n),
                             "size": np.random.randint(1, 500, n), "at": pd.Timestamp.now()})

    def update(self):
        self.history = pd.concat([self.history, self.fetch()], ignore_index=True)  # grows
        return self.history.groupby("symbol")["price"].mean()


def main():
    feed, end = Feed(), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        means = feed.update()
        if feed.rows % 20 == 0:
            print(means.to_dict(), flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
