"""A sail loft turns orders for mainsails, jibs and spinnakers into programs for its cutting plotter. Every
order is broken into panels; for each panel the loft writes the plot code, a packed list of the stitch holes and
a short ticket for the sewing floor. The plotter takes the panels one after the other, a foreman checks their
codes, and at the end of a shift the lengths cut are added up by kind of sail.

ticket: practice
class: none
"""
import os
import random
import struct
import time
import zlib

ROUNDS_PER_SECOND = 10
ORDERS_PER_ROUND = 4
SHIFT_ROUNDS = 8
CODE_LINES = 160
HOLES = 768
KINDS = {"mainsail": 14, "jib": 10, "spinnaker": 18, "storm jib": 6}


class PanelPlot:
    """What the plotter and the sewing floor get for one panel."""

    __slots__ = ("name", "code", "holes", "ticket", "length")

    def __init__(self, name, code, holes, ticket, length):
        self.name = name
        self.code = code
        self.holes = holes
        self.ticket = ticket
        self.length = length


class PanelWriter:
    """Writes the code of panels from a stock of plotter moves."""

    def __init__(self, rng):
        self.rng = rng
        self.moves = [f"G1 X{rng.uniform(0, 6000):.2f} Y{rng.uniform(0, 1500):.2f} F{rng.randint(80, 400)} ; knife\n"
                      for _ in range(4096)]
        self.remarks = ["double the seam", "tabling 40 mm", "leave the luff raw", "reef points here", "tape the leech"]
        self.cloth_rolls = [rng.randbytes(1 << 20) for _ in range(24)]

    def write(self, name):
        rng = self.rng
        code = "".join(rng.choices(self.moves, k=CODE_LINES)).encode()
        roll = rng.choice(self.cloth_rolls)
        offset = rng.randrange(len(roll) - HOLES * 4)
        holes = bytearray(roll[offset:offset + HOLES * 4])
        struct.pack_into("<II", holes, 0, len(code), HOLES)
        remark = rng.choice(self.remarks)
        ticket = f"{name}: {remark}; " + "; ".join(f"seam {seam} {rng.randint(200, 900)} cm" for seam in range(12))
        return PanelPlot(name, code, holes, ticket, rng.uniform(1.5, 9.0))


class Foreman:
    """Checks the panels against their checksums and strikes a sample of them."""

    def __init__(self):
        self.signature = 0
        self.checked = 0
        self.struck = 0

    def check(self, panel):
        self.signature = zlib.crc32(panel.code, self.signature)
        self.signature = zlib.crc32(panel.holes, self.signature)
        self.checked += 1
        if self.signature % 97 == 0:
            self.struck += 1
            return False
        return True


class Plotter:
    """The cutting table; a shift's panels are summed up together."""

    def __init__(self):
        self.plotted = {}
        self.shift_names = []
        self.metres = dict.fromkeys(KINDS, 0.0)

    def plot(self, panel):
        self.plotted[panel.name] = panel
        self.shift_names.append(panel.name)

    def close_shift(self):
        for name in self.shift_names:
            panel = self.plotted.pop(name)
            self.metres[name.split("/")[0]] += panel.length
        self.shift_names = []


class Loft:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.writer = PanelWriter(self.rng)
        self.foreman = Foreman()
        self.plotter = Plotter()
        self.orders = 0
        self.rounds = 0

    def work(self):
        self.rounds += 1
        for _ in range(ORDERS_PER_ROUND):
            self.orders += 1
            kind = self.rng.choice(list(KINDS))
            for number in range(KINDS[kind]):
                panel = self.writer.write(f"{kind}/{self.orders}/{number}")
                if self.foreman.check(panel):
                    self.plotter.plot(panel)
        if self.rounds % SHIFT_ROUNDS == 0:
            self.plotter.close_shift()


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    loft = Loft(seed=1851)
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        loft.work()
        if began >= next_report:
            print(f"{began - start:6.1f} s  orders {loft.orders}  panels {loft.foreman.checked}  "
                  f"struck {loft.foreman.struck}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    total = sum(loft.plotter.metres.values())
    print(f"loft closed: {loft.orders} orders, {total:.0f} m cut", flush=True)


if __name__ == "__main__":
    main()
