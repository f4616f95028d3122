"""A method is cached, and the cache keeps every client that it was called on.

ticket: getsentry/seer#2512
class: host-growth
holder: read_file lru_cache
cause: cache-without-bound
"""

import functools
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


class RepoClient:
    def __init__(self, name):
        self.name = name
        self.tree = {"src/file%d.py" % i: os.urandom(400) for i in range(200)}
        self.opened = time.time()

    @functools.lru_cache(maxsize=None)  # grows
    def read_file(self, path):
        return self.tree[path].hex()


def run(step):
    client = RepoClient("service-%d" % step)
    return sum(len(client.read_file(path)) for path in list(client.tree)[:20])


step = 0
while time.time() < END:
    step += 1
    run(step)
    time.sleep(0.03)
