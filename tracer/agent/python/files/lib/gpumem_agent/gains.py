"""What a program came to hold since a moment, and whether some holders have it."""

GROWTH = (256 << 10, 1 << 20)  # bytes of arrays at steps, and of the heap, to look for
NOTES = 4 << 20  # bytes of the heap that a look keeps, at most: 1.6 MB beside PyTorch 2.11
ON_HOST = 8 << 20  # bytes of the heap beside a device, to look for what holds them


class Held:
    """What a program held at a moment: as Process.held tells it."""

    def __init__(self, arrays=None, heap=None):
        self._before = [arrays, heap]

    @property
    def heap(self):
        """Bytes of the heap then, None while unknown."""
        return self._before[1]

    def no_more_than(self, heap):
        """Takes the heap to have been no larger than it is now: a compiler gives back what it took."""
        self._before[1] = least(self._before[1], heap)

    def leave_out(self, before, after):
        """Takes what the heap gained during a look for the look's own notes, which the program did
        not come to hold."""
        if None not in (self.heap, before, after):
            self._before[1] += min(max(after - before, 0), NOTES)

    def came(self, held):
        """What the program holds more by now, of arrays and of the heap; None of what is unknown."""
        pairs = list(zip(self._before, held))
        # The heap is read seldom: what was unknown then counts from now on.
        self._before = [now if then is None else then for then, now in pairs]
        return [None if None in pair else pair[1] - pair[0] for pair in pairs]

    def gains(self, held):
        """Pairs of what the program holds more than then, and of how much is worth a look."""
        return [(gain, worth) for gain, worth in zip(self.came(held), GROWTH) if gain is not None]

    def grew(self, held):
        """Whether either is worth a look."""
        return any(gain > worth for gain, worth in self.gains(held))

    def is_had(self, held, sizes, part, leasts):
        """Whether pairs of bytes and of whether these are of the host have a part of what came: on
        the device, and on the host beside one, of each as far as more than the least came."""
        on_device = held[0] is not None
        have = [0, 0]
        for size, on_host in sizes:
            have[not on_device or on_host] += size
        came = [0 if gain is None else gain for gain in self.came(held)]
        return not any(g >= worth and got < part * g for got, g, worth in zip(have, came, leasts))


def least(a, b):
    """The smaller of two figures, of which either may be unknown."""
    return b if a is None else a if b is None else min(a, b)


def names_class(path):
    """Whether a path is that of the objects of a class, such as "Node objects below t.root"."""
    rest = path.partition(" ")[2].partition(":")[0]
    return rest == "objects" or rest.startswith("objects below ")


def sizes(holders):
    """Pairs of the bytes of holders and of whether these are of the host."""
    return [(entry["bytes"], entry.get("host", False)) for entry in holders]
