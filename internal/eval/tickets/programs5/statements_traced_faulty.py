"""A store writes orders to SQLite. All statements are traced into a list, to be shown on a page for
developers.

ticket: django: connection.queries grows with DEBUG
class: host-growth
holder: statements
cause: log-records-kept results-kept
"""

import os
import random
import sqlite3
import time
from collections import deque


class Store:
    def __init__(self):
        self.base = sqlite3.connect(":memory:")
        self.base.execute("create table orders (id integer primary key, what text)")
        self.statements = []
        self.base.set_trace_callback(self.statements.append)  # grows

    def order(self, number):
        what = "%x" % random.getrandbits(8 * random.randint(500, 1500))
        self.base.execute("insert or replace into orders values (?, ?)", (number % 400, what))
        return self.base.execute("select count(*) from orders where what > '8'").fetchone()[0]


def main():
    store, end, number = Store(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        number += 1
        count = store.order(number)
        if number % 1000 == 0:
            print(number, count, flush=True)
        time.sleep(random.uniform(0.001, 0.008))


if __name__ == "__main__":
    main()
