"""Rows of a query are given as tuples with names, of a class that is made for each text of a query. Texts
have their values in them.

ticket: common practice: namedtuple for each query
class: host-growth
holder: classes
cause: cache-without-bound results-kept
"""

import os
import random
import time
from collections import namedtuple

classes = {}


def row_class(query, names):
    if query not in classes:
        classes[query] = namedtuple("Row", names)  # grows
    return classes[query]


def run(query, names, values):
    query = query + " where id = %d" % values[0]
    return row_class(query, names)(*values)


def main():
    columns = ["id", "name", "price", "amount", "at", "city"]
    end, asked = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        names = columns[:random.randint(2, 6)]
        values = [random.getrandbits(40) for _ in names]
        row = run("select %s from orders" % ", ".join(names), names, values)
        asked += 1
        if asked % 500 == 0:
            print(asked, row.id, flush=True)
        time.sleep(random.uniform(0.003, 0.015))


if __name__ == "__main__":
    main()
