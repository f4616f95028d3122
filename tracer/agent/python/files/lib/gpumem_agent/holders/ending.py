"""Who holds the arrays that were made late and still live, at a program's end."""

from gpumem_agent import atomic
from gpumem_agent.frameworks.sources import sources
from gpumem_agent.holders import living
from gpumem_agent.holders.naming import Holders, grown, late, sized
from gpumem_agent.holders.upward import Upwards, Walk


def find(process, deadline):
    """record.Holder objects, most bytes first, of a program that has come to
    its end and stands still."""
    frameworks = sources(process.frameworks)
    arrays = living.arrays(frameworks)
    recent = late(arrays, process.survivors)
    holders = Holders(deadline, Upwards(deadline))
    holders.name(recent)
    holders.native = _native(frameworks, arrays, holders.nameless)
    claimed = _add_graphs(holders, arrays, recent, deadline)
    holders.add_nameless(claimed)
    on_device = any(f.active() for f in process.frameworks)
    if not on_device and process.survivors is not None:
        _add_containers(holders, process.survivors, deadline)
    return holders.listed()


def _native(frameworks, arrays, nameless):
    """{identity of an array: what keeps it} out of the collector's sight."""
    kept = {}
    for framework in frameworks if nameless else ():
        own = [a.reference() for a in arrays if a.framework is framework]
        kept.update(framework.kept_natively([o for o in own if o is not None]))
    return kept


def _add_graphs(holders, arrays, recent, deadline):
    """Adds what only autograd graphs keep, under the outputs that keep them.
    Returns the keys of the storages that are charged with it."""
    nameless = {a.key for a in holders.nameless}
    visible = {a.key[1] for a in arrays if a.key not in nameless}
    before = set(visible)
    for framework in {id(a.framework): a.framework for a in recent}.values():
        outputs = [a.reference() for a in recent if a.framework is framework]
        # Outputs with a name first: what they keep is theirs.
        outputs.sort(key=lambda o: id(o) not in holders.path_of)
        for output, size, word in framework.graphs(outputs, visible, deadline):
            path = holders.path_of.get(id(output), type(output).__name__)
            holders.add("%s: autograd graph of %s outputs" % (path, word), size, 1)
    return visible - before


def _add_containers(holders, register, deadline):
    """Names containers that gained most elements: the host's own leaks."""
    lengths = {} if register.partial else living.containers()
    if atomic.POSSIBLE:
        # Here, because a program on a device does not need them.
        from gpumem_agent.holders import running
        from gpumem_agent.holders.downward import Reach

        running.add_containers(holders, Reach(()), register, lengths)
    gains = grown(lengths, register)
    walk = Walk(deadline)
    found = living.find(gains)
    walk.climb(list(found.values()))
    paths = walk.paths()
    for identity in found:
        if identity in paths:
            holders.add(*sized(paths[identity], gains[identity]))
