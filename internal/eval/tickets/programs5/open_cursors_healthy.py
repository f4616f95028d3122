"""Answers are given page by page from generators. The oldest are closed when there are more than fifty.

ticket: common practice: generators that nobody finishes
class: none
"""

import os
import random
import time


def pages(query):
    rows = ["%s:%d:%x" % (query, n, random.getrandbits(64)) for n in range(400)]
    for at in range(0, len(rows), 20):
        yield rows[at:at + 20]


class Service:
    def __init__(self):
        self.cursors, self.number = {}, 0

    def open(self, query):
        self.number += 1
        self.cursors[self.number] = pages(query)
        while len(self.cursors) > 50:
            self.cursors.pop(next(iter(self.cursors))).close()
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
