"""A method is cached in the client, and goes with it.

ticket: getsentry/seer#2512
class: none
"""

import functools
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


class RepoClient:
    def __init__(self, name):
        self.name = name
        self.tree = {"src/file%d.py" % i: os.urandom(400) for i in range(200)}
        self.read_file = functools.cache(self.read_file)

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
