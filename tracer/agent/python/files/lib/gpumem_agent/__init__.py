"""The gpumem agent: tells the tracer what only the program knows.

It speaks JSON lines over the Unix socket named by GPUMEM_AGENT (the protocol
is described with package tracer/agent). Rules every file here keeps:

* The program never suffers: each way in from the program swallows and counts
  the agent's errors, nothing blocks, nothing is imported that the program did
  not import, no device is initialised that the program did not.
* One thread samples. It is stopped around every fork, it blocks all signals,
  and it stretches its interval when sampling costs more than its share.
* Unknown is never zero: a number that cannot be had is left out.

Modules: loader (of these files), process (the life cycle), connection (the socket), role (which of the
program's processes), sampling (the thread and its budgets), figures, steps,
imports (noticing frameworks), births (who starts processes), native (C functions),
threads (their frames), hostheap, frameworks (one file each), requests and actions,
sites, errands (on the main thread), quiet, later, own (what programs replace) and alone (what must not meet a
second thread). Who holds what: surveys (when to look), holders (the search; its
words stand there) and atomic (why that disturbs nobody).
"""

_agent = None


def start():
    """Starts the agent of this process, once. Called by sitecustomize."""
    global _agent
    if _agent is None:
        from gpumem_agent import loader, process

        loader.install()
        _agent = process.begin()


def agent():
    """The agent of this process, or None when no tracer started it."""
    return _agent
