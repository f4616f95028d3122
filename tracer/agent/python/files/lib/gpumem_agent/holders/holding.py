"""Who holds some arrays now, whatever their age, while the program runs: at an error there
may be no earlier moment to compare with."""

import itertools

from gpumem_agent import atomic
from gpumem_agent.frameworks.sources import sources
from gpumem_agent.holders import living
from gpumem_agent.holders.naming import Holders
from gpumem_agent.holders.running import Downwards, reached


def find(frameworks, wanted, deadline):
    """Lists of record.Holder objects, most bytes first, one for each of wanted: {identity:
    weak reference} of arrays. Of those that show one storage one counts. It is one look at
    what the program's names reach."""
    if not atomic.POSSIBLE:
        return [[] for _ in wanted]
    frameworks = sources(frameworks)
    reach = reached(frameworks)
    reach.arrays()
    return [_of(frameworks, reach, some, deadline) for some in wanted]


def _of(frameworks, reach, wanted, deadline):
    described = (living.described(wanted, f, deadline, f.types()) for f in frameworks)
    arrays = [a for a in itertools.chain.from_iterable(described) if reach.has(a.identity)]
    found = Holders(deadline, Downwards(reach))
    found.name(list({a.key: a for a in arrays}.values()))
    return found.listed()
