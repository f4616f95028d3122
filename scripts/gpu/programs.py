"""What the lists of programs with a known truth share: how one declares its
truth, how long it works, and their command line.

Usage of a list: LIST.py NAME [--seconds 20] [--healthy]
                 LIST.py --list

With --healthy the same work is done without the fault. The list prints a line
a program: name, verdict, cause, a word of the holder's path, a word of the
site (- where there is none to name), what happens.
"""

import argparse
import time

PROGRAMS = {}


def program(verdict, cause, what, holder="-", site="-"):
    """Declares a program's truth: site True is its own function."""

    def register(f):
        PROGRAMS[f.__name__] = (f, verdict, cause, holder, f.__name__ if site is True else site, what)
        return f

    return register


class Clock:
    """Iterations of about 5 ms until the time is over."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __iter__(self):
        n = 0
        end = time.monotonic() + self.seconds  # from the first iteration on
        while time.monotonic() < end:
            yield n
            n += 1
            time.sleep(0.005)


def main(doc):
    """Runs the program that the command line names."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", nargs="?", choices=sorted(PROGRAMS))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--healthy", action="store_true")
    options = parser.parse_args()
    if options.list:
        for name, (_, *truth) in PROGRAMS.items():
            print(name, *truth)
        return 0
    if not options.name:
        parser.error("name a program, or --list")
    PROGRAMS[options.name][0](Clock(options.seconds), not options.healthy)
    return 0
