"""How many threads the executors of concurrent.futures have, and may have: asyncio.to_thread's
among them. An executor starts one when all are busy, up to its bound, and each may get memory
of its own, on the host and of the device's libraries. That fills up, and is no leak."""

import sys

MODULE = "concurrent.futures.thread"


def told():
    """{"threads": so many, "most": they may be}, of all executors whose threads run; None where
    there are none."""
    module = sys.modules.get(MODULE)
    queues = getattr(module, "_threads_queues", None)
    if not queues:
        return None
    executors = {}
    try:
        threads = list(queues)
    except RuntimeError:  # one was started meanwhile
        return None
    for thread in threads:
        arguments = getattr(thread, "_args", None)  # which a thread has while it runs
        executor = arguments[0]() if arguments else None
        if executor is not None:
            executors[id(executor)] = executor
    threads = sum(len(e._threads) for e in executors.values())
    return {"threads": threads, "most": sum(e._max_workers for e in executors.values())} if threads else None
