"""A large table is read in chunks, and all of them are kept to be joined at the end.

ticket: pandas-dev/pandas#48499
class: host-growth
holder: chunks
cause: results-kept
"""

import csv
import io
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Frame:
    def __init__(self, rows):
        self.columns = {name: [row[name] for row in rows] for name in rows[0]}

    def mean(self, column):
        return sum(map(float, self.columns[column])) / len(self.columns[column])


def read(size=400):
    rows = ["user,item,price"]
    rows += ["%d,%d,%f" % (random.randrange(10**9), i, random.random()) for i in range(size)]
    return Frame(list(csv.DictReader(io.StringIO("\n".join(rows)))))


chunks = []
means = []
while time.time() < END:
    frame = read()
    means.append(frame.mean("price"))
    chunks.append(frame)  # grows
    time.sleep(0.03)
print(len(means), len(chunks))
