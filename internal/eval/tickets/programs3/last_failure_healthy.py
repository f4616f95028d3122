"""A client sends batches of readings to a service that is often busy. It remembers why it failed last, as text,
and raises the next failure without a cause.

ticket: ray-project/ray#27946
class: none
"""

import json
import logging
import os
import random
import time
import zlib

log = logging.getLogger("readings")


class SendFailed(Exception):
    pass


class Service:
    def __init__(self):
        self.busy, self.received = 0, 0

    def receive(self, packed):
        if self.busy > 0:
            self.busy -= 1
            raise ConnectionError("busy, %d more" % self.busy)
        if random.random() < 0.15:
            self.busy = random.randint(1, 8)
        self.received += len(json.loads(zlib.decompress(packed)))


class Client:
    def __init__(self, service):
        self.service, self.last_failure, self.sent, self.failed = service, None, 0, 0

    def send(self, readings):
        text = json.dumps(readings)
        packed = zlib.compress(text.encode(), 1)
        try:
            self.service.receive(packed)
        except ConnectionError as error:
            raise SendFailed("%d readings not sent: %s" % (len(readings), error)) from None
        self.sent += 1

    def deliver(self, readings):
        for _ in range(3):
            try:
                return self.send(readings)
            except SendFailed as failure:
                self.last_failure = str(failure)
                self.failed += 1
                time.sleep(0.03)


def read(count):
    return [{"sensor": random.randrange(40), "at": time.time(), "value": random.gauss(20, 3)} for _ in range(count)]


def main():
    logging.basicConfig(level=logging.INFO)
    end, client, rounds = time.time() + float(os.environ.get("SECONDS", "45")), Client(Service()), 0
    while time.time() < end:
        client.deliver(read(random.randint(500, 2500)))
        rounds += 1
        if rounds % 30 == 0:
            log.info("%d sent, %d failures, last: %s", client.sent, client.failed, client.last_failure)
        time.sleep(random.choice([0.02, 0.05, 0.1, 0.3]))


if __name__ == "__main__":
    main()
