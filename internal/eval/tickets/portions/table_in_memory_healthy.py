"""Rows of an SQLite table in memory are deleted when they are older than some seconds.

ticket: none, a table that is cleaned
class: none
"""

import os
import random
import sqlite3
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(91)
base = sqlite3.connect(":memory:")
base.execute("create table events (at real, body text)")
cleaned = time.time()
n = 0
while time.time() < END:
    rows = [(time.time(), "b%d" % n * random.randrange(50, 500)) for _ in range(20)]
    base.executemany("insert into events values (?, ?)", rows)
    n += len(rows)
    if time.time() - cleaned > 4:
        base.execute("delete from events where at < ?", (time.time() - 4,))
        cleaned = time.time()
    time.sleep(0.02)
print(n, base.execute("select count(*) from events").fetchone())
