"""A server answers requests of many kinds. What a kind needs is imported when the first of it comes.

ticket: none, modules that are loaded late
class: none
"""

import importlib
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
KINDS = [
    ("xml.dom.minidom", "parseString"), ("sqlite3", "connect"), ("email.message", "EmailMessage"),
    ("unittest.mock", "MagicMock"), ("http.server", "HTTPServer"), ("asyncio", "Queue"),
    ("pydoc", "render_doc"), ("numpy", "zeros"), ("numpy.polynomial", "Polynomial"), ("doctest", "testmod"),
    ("concurrent.futures", "Future"), ("xmlrpc.client", "dumps"), ("distutils.core", "setup"),
    ("multiprocessing.managers", "BaseManager"),
]
random.seed(3)
known = 1.0
served = 0
while time.time() < END:
    known = min(len(KINDS), known + 0.02)  # a kind comes into use every two seconds or so
    module, name = KINDS[random.randrange(int(known))]
    getattr(importlib.import_module(module), name)
    answer = "".join(str(i * served) for i in range(random.randrange(200, 4000)))
    served += len(answer) > 0
    time.sleep(0.04)
print(served, int(known))
