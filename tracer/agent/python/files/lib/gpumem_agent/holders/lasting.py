"""Which of the holders that a look found are more than a moment's work, by what the look before
told: those are told."""

SWELLS = 3  # looks, one after the other, that find one array larger, until it is told
STEEP = 1.3  # times as large, at which one look counts for more
MORE = 1.1  # times the bytes of an earlier look, from which one that is as long as then has grown
FEW = 4  # arrays of a tuple, which are what a call is given, or a state: it does not get longer
LONGER = 1.5  # times as long as an earlier look: what holds no more then has not grown


def lasting(found, before):
    """Those holders that are more than a moment's work: of several arrays, and of more
    than when they were told before, or much longer: looks that each compare with the one
    before find the same again of what grows in portions. A look over not much longer a time
    than that one takes nothing back of a holder that it finds: what that one told stands."""
    earlier, kept = {entry["path"]: entry for entry in before}, []
    for entry in found:
        told = earlier.get(entry["path"])
        is_one = is_one_thing(entry) and "since" not in entry
        if not is_one and (told is None or _has_more(entry, told) or _is_longer(entry, told)):
            kept.append(entry)
        elif told is not None and entry.get("over_ms", 0) < LONGER * told.get("over_ms", 0):
            kept.append(told)
    return kept


def is_one_thing(entry):
    """Whether a holder has one array, or as few in a tuple."""
    return entry["count"] == 1 or entry["count"] <= FEW and entry["path"].startswith("tuple ")


def _has_more(entry, told):
    """Whether a holder has more bytes than when it was told. Of one that did not become longer
    these are by chance a little more, as of a list that is made anew for each request."""
    lengths = entry.get("length"), told.get("length")
    least = 1.0 if None in lengths or lengths[0] > lengths[1] else MORE
    return entry["bytes"] > least * told["bytes"]


def _is_longer(entry, told):
    """Whether a container became much longer since it was told: by half, or by half of what
    had come then. One that is emptied and filled again has got all that it has."""
    before, now = told.get("length", 0), entry.get("length", 0)
    return before > 0 and now >= min(LONGER * before, before + told["count"] / 2) and now > before


def swelling(found, before):
    """({path: (bytes, looks)}, holders) of one thing each that was larger at every look that found
    it: a program that puts a longer array in place of the one before keeps just that, and a look that
    comes in the midst of this finds it elsewhere. One look alone would also find what a step is about
    to give up. As the time between looks becomes twice as long, what grows evenly grows by much."""
    after, told = dict(before), []
    for entry in found:
        if not is_one_thing(entry) or "since" in entry:
            continue
        size, times = before.get(entry["path"], (None, 0))
        is_larger = size is not None and entry["bytes"] > size
        times = times + (SWELLS / 2 if entry["bytes"] >= STEEP * size else 1) if is_larger else 0
        after[entry["path"]] = entry["bytes"], times
        if times >= SWELLS:
            told.append(entry)
    return after, told
