"""What itertools.cycle keeps: each element of its first round, for the rounds that follow. Of
a loader with an epoch of hours that is all that it ever loads."""

import itertools
import re

from gpumem_agent.holders.kinds import is_a
from gpumem_agent.holders.texts import in_program, inside, search

DRAWN = r"\bnext\s*\(\s*[\w.]*\b%(name)s\b|\bfor\b.*\bin\b.*\b%(name)s\b"
MOST_LINES = 2  # told of one


def place_of(chain, at):
    """The place of the cycle that keeps what is at a place of a chain of references, or None: it
    is there itself, or what it has its elements in."""
    return next((n for n in range(max(0, at - 1), at + 1) if is_a(chain[n], itertools.cycle)), None)


def keeps(chain):
    """Whether what is at the end of a chain is what a cycle keeps: its elements, or one of them.
    What an element has filled since is not."""
    return any(is_a(item, itertools.cycle) for item in chain[-3:-1])


class Drawn:
    """The name of a cycle. It is filled where an element is drawn from it."""

    __slots__ = ("name", "file", "line")

    def __init__(self, filler):
        self.name, self.file, self.line = str(filler.name), filler.file, filler.line

    def sites(self):
        """Places of the lines that do so."""
        pattern = re.compile(DRAWN % {"name": re.escape(self.name)})
        found = search(self.file, pattern, self.name) if self.file else []
        if self.line:
            found = inside(found, self.file, self.line) or found
        return found[:MOST_LINES] or in_program(pattern, self.name, MOST_LINES)
