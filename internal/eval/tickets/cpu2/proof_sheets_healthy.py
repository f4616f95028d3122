"""A print shop's server takes texts and makes proof sheets of them. It breaks the lines, and each job has a logger
of its own, so that jobs that run at the same time do not mix: what was decided about each line goes into the job's
transcript, and the customer gets the transcript back with the sheet's number of lines.

ticket: practice
class: none
"""

import io
import itertools
import logging
import os
import random
import socket
import socketserver
import threading
import time

MEASURE = 62  # characters in a line
WORDS = "the press has a bed of iron and type stands in galleys while ink dries on damp paper overnight".split()


def proof(text, log):
    """Breaks the text and returns the number of lines."""
    line, length, number = [], 0, 0
    for word in text.split():
        if line and length + len(word) + len(line) > MEASURE:
            number += 1
            log.debug("line %d: %d words, %d free: %s", number, len(line), MEASURE - length, " ".join(line))
            line, length = [], 0
        line.append(word)
        length += len(word)
    log.info("last line of %d words", len(line))
    return number + 1


class Job(socketserver.StreamRequestHandler):
    def handle(self):
        size = int(self.rfile.readline())
        text = self.rfile.read(size).decode()
        transcript = io.StringIO()
        log = logging.Logger(f"proof.job-{next(self.server.jobs)}")
        log.setLevel(logging.DEBUG)
        log.propagate = False
        handler = logging.StreamHandler(transcript)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        lines = proof(text, log)
        answer = transcript.getvalue().encode()
        self.wfile.write(b"%d %d\n" % (lines, len(answer)) + answer)


class Shop(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address):
        super().__init__(address, Job)
        self.jobs = itertools.count(1)


def order(address):
    """A customer sends a text and waits for the proof."""
    text = " ".join(random.choices(WORDS, k=random.randint(5_000, 12_000))).encode()
    with socket.create_connection(address) as connection, connection.makefile("rwb") as stream:
        stream.write(b"%d\n" % len(text) + text)
        stream.flush()
        lines, size = map(int, stream.readline().split())
        return lines, len(stream.read(size))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with Shop(("127.0.0.1", 0)) as shop:
        threading.Thread(target=shop.serve_forever, daemon=True).start()
        orders = lines = 0
        while time.time() < end:
            for _ in range(random.randint(1, 4)):
                count, _ = order(shop.server_address)
                orders, lines = orders + 1, lines + count
                if orders % 40 == 0:
                    print(f"{orders} proofs, {lines} lines", flush=True)
            time.sleep(random.uniform(0.05, 0.15))
        shop.shutdown()


if __name__ == "__main__":
    main()
