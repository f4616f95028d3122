"""Rows of an SQLite table in memory are marked as done, and never deleted.

ticket: none, a table that grows
class: host-growth
holder: base
cause: database-in-memory
"""

import os
import random
import sqlite3
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(91)
base = sqlite3.connect(":memory:")
base.execute("create table events (at real, body text, done int)")
n = 0
while time.time() < END:
    rows = [(time.time(), "b%d" % n * random.randrange(50, 500), 0) for _ in range(10)]
    base.executemany("insert into events values (?, ?, ?)", rows)  # grows
    n += len(rows)
    base.execute("update events set done = 1 where done = 0")
    time.sleep(0.05)
print(n, base.execute("select count(*) from events").fetchone())
