"""For each request a callback is registered for the end of its connection, and detached when it is answered.

ticket: common practice: weakref.finalize on something that lives for long
class: none
"""

import os
import random
import time
import weakref


class Connection:
    def __init__(self, name):
        self.name, self.open = name, True


class Request:
    def __init__(self, number):
        self.number, self.body = number, bytearray(random.randint(10000, 30000))

    def abort(self):
        self.body.clear()


def handle(connection, number):
    request = Request(number)
    closer = weakref.finalize(connection, request.abort)
    time.sleep(random.uniform(0.002, 0.02))
    closer.detach()
    return len(request.body) if closer else 0


def main():
    connections = [Connection("c%d" % n) for n in range(8)]
    end, number = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        number += 1
        size = handle(random.choice(connections), number)
        if number % 500 == 0:
            print(number, size, flush=True)


if __name__ == "__main__":
    main()
