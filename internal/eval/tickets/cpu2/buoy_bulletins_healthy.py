"""Reads the stream of bulletins that the buoys of a coast send by way of a relay. The stream is a single XML
document that never ends, so it is parsed as it comes; each bulletin is looked at when its end tag is there. The
wave heights of the last minutes are kept for each buoy, and a summary is printed.

ticket: practice
class: none
"""

import os
import random
import socket
import statistics
import threading
import time
from collections import defaultdict, deque
from xml.etree.ElementTree import XMLPullParser

BUOYS = [f"{letter}{number}" for letter in "KMNRT" for number in range(1, 9)]
RECENT = 40


def bulletin(number):
    buoy = random.choice(BUOYS)
    swell = "".join(
        f'<swell from="{random.randrange(360)}" period="{random.randint(4, 16)}">{random.gauss(1.5, 0.3):.2f}</swell>'
        for _ in range(random.randint(3, 8))
    )
    return (
        f'<bulletin buoy="{buoy}" number="{number}"><time>{time.time():.2f}</time>'
        f"<height>{abs(random.gauss(2, 0.6)):.2f}</height>{swell}"
        f"<water>{random.gauss(11, 1):.1f}</water><battery>{random.uniform(11, 13):.2f}</battery></bulletin>\n"
    )


def relay(line, stop):
    """Sends bulletins in bursts for as long as somebody listens."""
    number = 0
    with line:
        line.sendall(b'<?xml version="1.0"?>\n<coast relay="west">\n')
        while not stop.is_set():
            burst = []
            for _ in range(random.randint(80, 240)):
                number += 1
                burst.append(bulletin(number))
            line.sendall("".join(burst).encode())
            time.sleep(random.uniform(0.05, 0.15))
        line.sendall(b"</coast>\n")


class Coast:
    def __init__(self):
        self.parser = XMLPullParser(events=("start", "end"))
        self.root = None
        self.heights = defaultdict(lambda: deque(maxlen=RECENT))
        self.read = 0

    def feed(self, data):
        self.parser.feed(data)
        for event, element in self.parser.read_events():
            if self.root is None:
                self.root = element
            if event == "end" and element.tag == "bulletin":
                self.take(element)
                self.root.remove(element)

    def take(self, element):
        height = float(element.findtext("height"))
        swell = max(float(part.text) for part in element.iter("swell"))
        self.heights[element.get("buoy")].append(max(height, swell))
        self.read += 1

    def summary(self):
        means = {buoy: statistics.fmean(heights) for buoy, heights in self.heights.items()}
        roughest = max(means, key=means.get)
        return f"{self.read} bulletins, roughest at {roughest}: {means[roughest]:.2f} m"


def main():
    here, there = socket.socketpair()
    stop, coast = threading.Event(), Coast()
    sender = threading.Thread(target=relay, args=(there, stop))
    sender.start()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    printed = time.time()
    while data := here.recv(65536):
        coast.feed(data)
        if time.time() > printed + 2:
            printed = time.time()
            print(coast.summary(), flush=True)
        if time.time() > end:
            stop.set()
    sender.join()
    here.close()


if __name__ == "__main__":
    main()
