"""Whose frames are asked for."""

import subprocess
import sys
import threading
import unittest

from gpumem_agent import threads

# Two interpreters with memory of their own, whose frames live on after they were asked for.
PROGRAM = """
import sys, threading, time
try:
    import _interpreters as interpreters
    new = interpreters.create("isolated")
except ImportError:
    import _xxsubinterpreters as interpreters
    new = interpreters.create(isolated=True)
run = getattr(interpreters, "exec", None) or interpreters.run_string
thread = threading.Thread(target=run, args=(new, "import time\\ndef f():\\n  time.sleep(.5)\\nf()"))
thread.start()
time.sleep(.2)
from gpumem_agent import threads
assert not threads.alone() and threads.teller()() == {}
thread.join()
print("ran on")
"""


class ThreadsTest(unittest.TestCase):
    def test_the_frames_of_all_threads_are_told(self):
        self.assertTrue(threads.alone())
        self.assertIn(threading.get_ident(), threads.teller()())

    @unittest.skipIf(sys.version_info < threads.OWN_MEMORY, "interpreters share their memory")
    def test_nobodys_frames_are_asked_for_beside_another_interpreter(self):
        out = subprocess.run([sys.executable, "-B", "-c", PROGRAM], capture_output=True, text=True)
        self.assertEqual((out.returncode, out.stdout), (0, "ran on\n"), out.stderr)


if __name__ == "__main__":
    unittest.main()
