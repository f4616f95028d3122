"""What the tracer may ask for. Each returns keys of a done message; a figure
that is unknown is left out, never zero."""

import gc

from gpumem_agent import atomic
from gpumem_agent.frameworks import sites_of, total
from gpumem_agent.own import own

HOLDERS_SECONDS = 5.0  # on the exiting program
HOLDERS_SECONDS_RUNNING = 1.0  # on one that runs on
LIST_LENGTH = 50  # sites or holders in one answer


def perform(process, action):
    """Does an action by its name."""
    doer = _ACTIONS.get(action)
    if doer is None:
        return {"error": "unknown action %s" % action}
    return doer(process)


def _active(process):
    return [f for f in process.frameworks if f.active()]


def _live(process):
    return total(f.live_bytes() for f in _active(process))


def _collect(process):
    before, off = _live(process), not gc.isenabled()
    count = gc.collect()
    done = _known(_less(before, _live(process)), count)
    return dict(done, collector_off=True) if off else done


def _purge(process):
    return _known(total([f.purge() for f in _active(process)]))


def _trim(process):
    heap = process.figures.heap()
    if heap is None:
        return {"error": "no heap that can be trimmed"}
    return _known(heap.trim())


def _sync(process):
    for framework in _active(process):
        framework.sync()
    return {}


def _sites(process):
    from gpumem_agent import sites

    now = sites_of(_active(process))
    if now is None:
        return {"error": "sites were not recorded: GPUMEM_SITES=1 records them"}
    now = process.surveys.sites.at_most(now)
    found = sites.compare(now, process.surveys.sites_before())
    return {"detail": {"sites": found[:LIST_LENGTH]}}


def _holders(process):
    surveys = process.surveys
    if not process.exiting:
        if not surveys.look_now(process, own.monotonic() + HOLDERS_SECONDS_RUNNING):
            return {"error": "this interpreter can be looked at only at its end"}
        return {"detail": {"holders": surveys.told[:LIST_LENGTH]}}
    from gpumem_agent.holders import ending, naming
    from gpumem_agent.sampling import paused

    with paused():
        own.sleep(0)
        found = ending.find(process, own.monotonic() + HOLDERS_SECONDS, surveys.kept)
    found = naming.with_gone(found, surveys.lately)
    return {"detail": {"holders": found[:LIST_LENGTH]}}


def _composition(process):
    """Tells with a mark what live memory is made of now."""
    for framework in _active(process):
        found = framework.composition()
        if found:
            process.mark("composition", framework.name, detail=found)
            return {}
    return {"error": "no framework in use here tells what its memory is made of"}


def _look(process):
    """What is held now, all of it, for a tracer that looks once."""
    active, detail = _active(process), {}
    if atomic.POSSIBLE:
        from gpumem_agent.holders import running
        from gpumem_agent.holders.register import Register

        deadline = own.monotonic() + HOLDERS_SECONDS_RUNNING
        found, _ = running.look(process, Register({}, {}), deadline)
        detail["holders"] = found[:LIST_LENGTH]
    made = next(filter(None, (f.composition() for f in active)), None)
    if made is not None:
        detail["composition"] = made
    now = sites_of(active)
    if now is not None:
        from gpumem_agent import sites

        detail["sites"] = sites.compare(now, None)[:LIST_LENGTH]
    return {"detail": detail}


def _less(before, after):
    if before is None or after is None:
        return None
    return max(0, before - after)


def _known(claimed, count=None):
    done = {}
    if claimed is not None:
        done["claimed_bytes"] = claimed
    if count is not None:
        done["count"] = count
    return done


_ACTIONS = {
    "collect": _collect,
    "purge": _purge,
    "trim": _trim,
    "sync": _sync,
    "sites": _sites,
    "holders": _holders,
    "composition": _composition,
    "look": _look,
}
