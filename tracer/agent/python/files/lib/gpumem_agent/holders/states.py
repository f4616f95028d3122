"""Whether a line that fills a container puts a whole state into it: the weights of a model,
and what trains them. PyTorch's are known by their shapes; those of JAX are plain trees of arrays,
and go by the name that the program gives them, or gives what it made a copy of.
"""

import functools
import re

from gpumem_agent.holders.texts import LONGEST, above, code, line_of

LEAST = 3  # arrays of each element: a state of an environment has fewer
ADDED = re.compile(r"(?:\.\w+\(|=(?!=))(.*)")  # what is added, behind a method's bracket or an assignment
STATE = re.compile(r"(?<![\w.])(?:\w+\.)*(?:\w+_)?(?:state|weights|params|parameters)\s*(?=[,)\]}]|$)")
VARIABLE = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*(?=[,)\]}]|$)")
MOST = 4  # of a line, that are looked for
COPIES = re.compile(r"\bdeepcopy\s*\(|\b(?:tree_map|tree\.map)\s*\(.*copy")  # of a whole tree, whatever its name
COPIED = r"^\s*%s\s*=(?!=)(.*(?:copy\b|\bclone\b|\btree_map\b|\btree\.map\b|\bdevice_get\b).*)"


@functools.lru_cache(maxsize=64)  # each look asks again
def keeps_state(site):
    """Whether the line of a site, as "file:line function", adds something of such a name, or what the
    function had made of that before."""
    _, lines, at = line_of(site)
    line = code(lines[at]) if lines else ""
    added = ADDED.search(line) if len(line) <= LONGEST else None
    if added is None:
        return False
    if STATE.search(added.group(1)) is not None:
        return True
    before = [line for line in above(lines, at) if len(line) <= LONGEST]
    return any(_is_copy(name, before) for name in VARIABLE.findall(added.group(1))[:MOST])


def _is_copy(name, before):
    """Whether one of the lines before gives a variable a copy of something of such a name, or of a whole tree."""
    made = filter(None, map(re.compile(COPIED % re.escape(name)).search, before))
    return any(form.search(found.group(1)) for found in made for form in (STATE, COPIES))
