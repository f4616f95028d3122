"""A variable of a running function as the root of a path."""

import _thread

MANY = 8  # threads in one function


class Local:
    """A variable of a running function: a root that no object stands for."""

    __slots__ = ("name", "rank", "variable", "file", "line", "calls")

    def __init__(self, name, rank, variable="", file="", line=0, calls=1):
        self.name = name
        self.rank = rank
        self.variable = variable
        self.file = file  # of the function
        self.line = line  # its first
        self.calls = calls  # of the function that run now

    def key(self):
        """What tells it from other variables of running functions."""
        return self.file, self.line, self.variable

    def kind(self):
        """In the words of the catalogue of causes why what this variable of each call has is kept. Where there
        are as many threads each call has one of its own, which keeps its variables until it ends."""
        return "threads-left" if MANY <= self.calls <= _thread._count() else None
