"""A feed of XML without an end is read element by element. The root is emptied after each.

ticket: common practice: iterparse without clear
class: none
"""

import os
import random
import time
import xml.etree.ElementTree as ET


class Feed:
    def __init__(self):
        self.parser = ET.XMLPullParser(["start", "end"])
        self.parser.feed("<feed>")
        _, self.root = next(self.parser.read_events())

    def read(self, text):
        self.parser.feed(text)
        names = []
        for event, element in self.parser.read_events():
            if event == "end" and element.tag == "item":
                names.append(element.findtext("name"))
                self.root.clear()
        return names


def main():
    feed, end, items = Feed(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        for _ in range(random.randint(1, 8)):
            fields = "".join("<field n='%d'>%x</field>" % (n, random.getrandbits(256)) for n in range(12))
            names = feed.read("<item><name>n%d</name>%s</item>" % (items, fields))
            items += 1
        if items % 200 == 0:
            print(items, names, flush=True)
        time.sleep(random.uniform(0.005, 0.03))


if __name__ == "__main__":
    main()
