"""Hooks of modules: who registers them, and who fills what one of them has.

A hook that is registered again and again, and adds to a list of its own, keeps what it adds:
neither line does so without the other.
"""

from gpumem_agent.holders import fillers, lines
from gpumem_agent.holders.kinds import owns
from gpumem_agent.holders.living import GROWING


class Registered:
    """The Fillers of a dictionary of hooks, and of a container that one of the hooks has."""

    __slots__ = ("_hooks", "_inner")

    def __init__(self, hooks, inner):
        self._hooks = hooks
        self._inner = inner

    def sites(self):
        """Places of a line that registers a hook, and of one that adds to what a hook has."""
        first = fillers.places(self._hooks)[:1]
        return first and first + [site for site in fillers.places(self._inner)[:1] if site not in first]


def filler(chain, at, modules):
    """The Fillers of the hooks at or below a place of a chain, of one of many modules: who registers
    them fills them; None where there are none."""
    hooks = next((p for p in range(max(1, at), len(chain)) if lines.of_hooks(chain, p, modules)), None)
    found = None if hooks is None else lines.filler(chain, hooks, modules)
    inner = _inside(chain, hooks) if found else None
    filled = lines.filler(chain, inner, modules) if inner else None
    return (Registered(found, filled),) if filled else found


def _inside(chain, hooks):
    """The place of the last container below hooks, which is no object's own; None without one."""
    places = range(len(chain) - 1, hooks, -1)
    return next((p for p in places if type(chain[p]) in GROWING and not owns(chain[p - 1], chain[p])), None)
