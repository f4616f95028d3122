"""The lines that fill what keeps records of a log: that of the program's own handler, and
those that log."""

from gpumem_agent.holders.fillers import LOGGED, MOST_LINES, Filler
from gpumem_agent.holders.kinds import is_library
from gpumem_agent.holders.lines import filler
from gpumem_agent.holders.words import elements_of

RECORDS = "log-records-kept"  # the kind of what keeps them


def logged(chain, at, modules):
    """The Logged of what keeps records at a place of a chain of references, or further on:
    whoever has the logger alone sees its handlers first."""
    places = range(at, len(chain))
    return Logged(filler(chain, next((n for n in places if elements_of(chain[n]) == RECORDS), at), modules))


class Logged:
    """What keeps such records. Found are the Fillers of its own name."""

    __slots__ = ("name", "own")

    def __init__(self, found):
        self.name = LOGGED
        some = found if type(found) is tuple else ()
        self.own = next((f for f in some if type(f) is Filler and f.file and not is_library(f.file)), None)

    def sites(self):
        """Places of these lines, the handler's first."""
        own = self.own.sites()[:1] if self.own is not None else []
        logs = [site for site in Filler(LOGGED, "", True).sites() if site not in own]
        return (own + logs)[:MOST_LINES]
