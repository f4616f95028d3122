"""How many threads executors have, and may have."""

import concurrent.futures
import threading
import unittest
import unittest.mock

from gpumem_agent import threadpools


class ThreadPoolsTest(unittest.TestCase):
    def test_an_executor_has_the_threads_that_it_needed_of_those_it_may_have(self):
        go = threading.Event()
        before = threadpools.told() or {"threads": 0, "most": 0}
        with concurrent.futures.ThreadPoolExecutor(7) as executor:
            futures = [executor.submit(go.wait) for _ in range(3)]
            now = threadpools.told()
            go.set()
            for future in futures:
                future.result()
            del executor, futures, future
        self.assertEqual((now["threads"] - before["threads"], now["most"] - before["most"]), (3, 7))

    def test_threads_of_nobody_are_none(self):
        with unittest.mock.patch.dict(threadpools.sys.modules, {threadpools.MODULE: None}):
            self.assertIsNone(threadpools.told())


if __name__ == "__main__":
    unittest.main()
