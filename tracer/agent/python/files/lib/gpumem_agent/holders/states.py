"""Whether a line that fills a container puts a whole state into it: the weights of a model,
and what trains them. PyTorch's are known by their shapes; those of JAX are plain trees of arrays,
and go by the name that the program gives them, or gives what it made a copy of.
"""

import collections
import functools
import itertools
import re

from gpumem_agent.holders.kinds import NO_ARRAYS, is_a
from gpumem_agent.holders.texts import LONGEST, above, code, line_of

LEAST = 3  # arrays of each element: a state of an environment has fewer
ADDED = re.compile(r"(?:\.\w+\(|=(?!=))(.*)")  # what is added, behind a method's bracket or an assignment
STATE = re.compile(r"(?<![\w.])(?:\w+\.)*(?:\w+_)?(?:state|weights|params|parameters)\s*(?=[,)\]}]|$)")
WEIGHTS = re.compile(STATE.pattern.replace("state|", ""))
VARIABLE = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*(?=[,)\]}]|$)")
MOST = 4  # of a line, that are looked for
MOST_PARTS = 64  # of an element, that are looked at
PLAIN = {dict: dict.values, list: list.__iter__, tuple: tuple.__iter__, collections.deque: collections.deque.__iter__}
COPIES = re.compile(r"\bdeepcopy\s*\(|\b(?:tree_map|tree\.map)\s*\(.*copy")  # of a whole tree, whatever its name
COPIED = r"^\s*%s\s*=(?!=)(.*(?:copy\b|\bclone\b|\btree_map\b|\btree\.map\b|\bdevice_get\b).*)"

def parts(container):
    """How many values the first element of a container has in plain containers of its own, without texts and
    numbers; LEAST of them and more."""
    pending, found = list(_some(container, 1)), 0
    for _ in range(MOST_PARTS):  # one may have itself
        if not pending or found >= LEAST:
            break
        item = pending.pop()
        if is_a(item, (dict, list, tuple)):
            pending.extend(_some(item, MOST_PARTS - len(pending)))
        else:
            found += not is_a(item, NO_ARRAYS)
    return found


def _some(container, most):
    """The first elements of a plain container, past what a class of the program's makes of it; none of another."""
    each = next((each for kind, each in PLAIN.items() if is_a(container, kind)), None)
    return itertools.islice(each(container), max(0, most)) if each else ()


def keeps_weights(site):
    """Whether the line of a site adds something that has the name of weights: these are so of two arrays already."""
    return WEIGHTS.search(_added(*line_of(site)[1:])) is not None


def _added(lines, at):
    """What a line adds, in the program's words; empty of none."""
    line = code(lines[at]) if lines else ""
    added = ADDED.search(line) if len(line) <= LONGEST else None
    return added.group(1) if added else ""


@functools.lru_cache(maxsize=64)  # each look asks again
def keeps_state(site):
    """Whether the line of a site, as "file:line function", adds something of such a name, or what the
    function had made of that before."""
    _, lines, at = line_of(site)
    added = _added(lines, at)
    if STATE.search(added) is not None:
        return True
    names = VARIABLE.findall(added)[:MOST]
    before = [line for line in above(lines, at) if len(line) <= LONGEST] if names else []
    return any(_is_copy(name, before) for name in names)


def _is_copy(name, before):
    """Whether one of the lines before gives a variable a copy of something of such a name, or of a whole tree."""
    made = filter(None, map(re.compile(COPIED % re.escape(name)).search, before))
    return any(form.search(found.group(1)) for found in made for form in (STATE, COPIES))
