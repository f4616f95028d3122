"""Requests of the tracer, while the program runs and at its end."""

import time

from gpumem_agent.connection import Closed

HOLD_SECONDS = 60.0  # an exiting program waits no longer for the next request
DONE_PATIENCE = 2.0  # answers are worth waiting for


def hold(process):
    """Answers the tracer's experiments until it says continue."""
    deadline = time.monotonic() + HOLD_SECONDS
    try:
        while time.monotonic() < deadline:
            messages = process.connection.receive(0.1)
            if answer(process, messages):
                return
            if messages:
                deadline = time.monotonic() + HOLD_SECONDS
    except (Closed, KeyboardInterrupt):
        pass  # the tracer is gone, or the user wants out: so be it


def answer(process, messages):
    """Does what the tracer asks. Returns whether it said continue."""
    for message in messages:
        do = message.get("do")
        if not isinstance(do, dict):
            continue
        if do.get("action") == "continue":
            return True
        _act(process, do)
    return False


def _act(process, do):
    from gpumem_agent import actions

    done = {"id": do.get("id", 0)}
    try:
        done.update(actions.perform(process, do.get("action")))
    except Exception as err:
        process.failed(err)
        done["error"] = "%s: %s" % (type(err).__name__, err)
    process.sample(heap=True)
    process.connection.send({"done": done}, patience=DONE_PATIENCE)
    process.connection.knock()
