"""What live memory is made of where a framework does not show its blocks: arrays that
Python holds, by what they are for as far as that can be told, and what remains."""

PARAMETERS, OPTIMIZER, ARRAYS = "parameters", "optimizer state", "other arrays of Python"
REST = "held by the framework alone"
UNCLEAR = "arrays that share memory or are not computed yet"


def categories(live, sums):
    """The categories of so many live bytes, from the sums of arrays. They add up to the
    live bytes: arrays may take less than they say where they share memory or are not
    computed yet, and which of them do nobody tells."""
    sums = {name: size for name, size in sums.items() if size > 0}
    beyond = sum(sums.values()) - live
    if beyond <= 0:
        sums[REST] = -beyond
    elif sums.get(ARRAYS, 0) >= beyond:
        sums[ARRAYS] -= beyond
    else:
        sums = {UNCLEAR: live}
    return {name: size for name, size in sums.items() if size > 0}


def composition(device, live, sums):
    """A composition as a mark has it, or None where the live bytes are unknown or 0."""
    if not live:
        return None
    return {"device": device, "categories": categories(live, sums)}
