"""Whether a line that fills a container puts a whole state into it: the weights of a model,
and what trains them. PyTorch's are known by their shapes; those of JAX are plain trees of arrays,
and go by the name that the program gives them.
"""

import functools
import re

from gpumem_agent.holders.texts import LONGEST, read

LEAST = 3  # arrays of each element: a state of an environment has fewer
ADDED = re.compile(r"(?:\.\w+\(|=(?!=))(.*)")  # what is added, behind a method's bracket or an assignment
STATE = re.compile(r"(?<![\w.])(?:\w+\.)*(?:\w+_)?(?:state|weights|params|parameters)\s*(?=[,)\]}]|$)")


@functools.lru_cache(maxsize=64)  # each look asks again
def keeps_state(site):
    """Whether the line of a site, as "file:line function", adds something of such a name."""
    file, _, number = site.rpartition(" ")[0].rpartition(":")
    lines = read(file).splitlines()
    if not number.isdigit() or not 0 < int(number) <= len(lines):
        return False
    line = lines[int(number) - 1].partition("#")[0].rstrip()
    added = ADDED.search(line) if len(line) <= LONGEST else None
    return added is not None and STATE.search(added.group(1)) is not None
