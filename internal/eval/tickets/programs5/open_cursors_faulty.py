"""Answers are given page by page from generators. Clients who leave before the last page leave theirs behind.

ticket: common practice: generators that nobody finishes
class: host-growth
holder: cursors
cause: cache-without-bound results-kept sessions-kept
"""

import os
import random
import time


def pages(query):
    rows = ["%s:%d:%x" % (query, n, random.getrandbits(64)) for n in range(400)]  # grows
    for at in range(0, len(rows), 20):
        yield rows[at:at + 20]


class Service:
    def __init__(self):
        self.cursors, self.number = {}, 0

    def open(self, query):
        self.number += 1
        self.cursors[self.number] = pages(query)  # keeps
        return self.number

    def next(self, number):
        page = next(self.cursors[number], None) if number in self.cursors else None
        if page is None:
            self.cursors.pop(number, None)
        return page


def main():
    service, end = Service(), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number = service.open("q%d" % random.randrange(50))
        for _ in range(random.choice([1, 1, 2, 3, 30])):
            if service.next(number) is None:
                break
        if number % 300 == 0:
            print("asked", number, flush=True)
        time.sleep(random.uniform(0.005, 0.03))


if __name__ == "__main__":
    main()
