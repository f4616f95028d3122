"""A server loads the plugin of each request anew, under a name of its own, and it stays imported.

ticket: none, modules that are loaded late
class: host-growth
holder: modules
cause: results-kept cache-without-bound modules-made-at-run-time
"""

import os
import random
import sys
import time
import types

END = time.time() + float(os.environ.get("SECONDS", "40"))
SOURCE = "\n".join("def rule_%d(x):\n    return x * %d + %d\nTABLE_%d = list(range(%d))" % (i, i, i, i, i + 200) for i in range(24))
random.seed(3)


def load(number):
    plugin = types.ModuleType("plugin_%d" % number)
    exec(compile(SOURCE, plugin.__name__, "exec"), plugin.__dict__)
    sys.modules[plugin.__name__] = plugin  # grows
    return plugin


served = 0
while time.time() < END:
    plugin = load(served)
    answer = "".join(str(plugin.rule_7(i)) for i in range(random.randrange(200, 4000)))
    served += len(answer) > 0
    time.sleep(0.04)
print(served)
