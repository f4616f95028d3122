"""Makes the pages of a farmers' almanac: for each county the yields of its fields are drawn up as a table, in the
same columns on the first page and on those after it. The layout of an almanac takes a while to work out, so it is
remembered for as long as the almanac lives, in a dictionary with weak keys.

ticket: practice
class: host-growth
holder: layouts WeakKeyDictionary Layout almanac
cause: cache-without-bound reference-cycle
"""

import io
import os
import random
import time
from weakref import WeakKeyDictionary

import numpy as np

CROPS = "barley", "beans", "beet", "clover", "hops", "oats", "rye", "wheat"
ROWS = 40  # on a page


class Almanac:
    """The yields of all fields of a county over the years."""

    def __init__(self, county, fields, years):
        rng = np.random.default_rng()
        self.county = county
        self.yields = rng.gamma(4.0, 1.5, size=(fields, years, len(CROPS)))  # grows

    def rows(self):
        return self.yields.mean(axis=1)


class Layout:
    """How wide the columns are, and in which order the fields come."""

    def __init__(self, almanac):
        rows = almanac.rows()
        self.almanac = almanac  # keeps
        self.widths = [max(len(crop), len(f"{rows[:, i].max():.2f}")) + 2 for i, crop in enumerate(CROPS)]
        self.order = np.argsort(-rows.sum(axis=1))

    def pages(self):
        return -(-len(self.order) // ROWS)

    def page(self, number):
        out = io.StringIO()
        print(f"{self.almanac.county}, page {number + 1} of {self.pages()}", file=out)
        print("".join(crop.rjust(width) for crop, width in zip(CROPS, self.widths)), file=out)
        rows = self.almanac.rows()
        for field in self.order[number * ROWS : (number + 1) * ROWS]:
            print("".join(f"{value:.2f}".rjust(width) for value, width in zip(rows[field], self.widths)), file=out)
        return out.getvalue()


class Press:
    def __init__(self):
        self.layouts = WeakKeyDictionary()

    def layout(self, almanac):
        if almanac not in self.layouts:
            self.layouts[almanac] = Layout(almanac)  # keeps
        return self.layouts[almanac]

    def page(self, almanac, number):
        return self.layout(almanac).page(number)

    def print_all(self, almanac):
        return sum(len(self.page(almanac, number)) for number in range(self.layout(almanac).pages()))


def main():
    press, printed, counties = Press(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        counties += 1
        county = f"county {random.randrange(3_000):04d}"
        almanac = Almanac(county, fields=random.randint(150, 400), years=random.choice((40, 60, 80)))  # grows
        printed += press.print_all(almanac)
        if counties % 20 == 0:
            print(f"{counties} almanacs, {printed / 1e6:.1f} million characters, last {county}", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
