"""Requests of the tracer, while the program runs and at its end."""

from gpumem_agent.connection import Closed
from gpumem_agent.own import own

# Seconds that an exiting program waits for the tracer's next word: for the first,
# then between two heards, then for a tracer that asks and never says heard.
FIRST_SECONDS, HEARD_SECONDS, ASKED_SECONDS = 2.0, 5.0, 60.0
DONE_PATIENCE = 2.0  # answers are worth waiting for


def hold(process):
    """Answers the tracer's experiments until it says continue."""
    says_heard, deadline = False, own.monotonic() + FIRST_SECONDS
    try:
        while own.monotonic() < deadline:
            messages = process.connection.receive(deadline - own.monotonic())
            if answer(process, messages):
                return
            if messages:
                says_heard = says_heard or any("heard" in m for m in messages)
                patience = HEARD_SECONDS if says_heard else ASKED_SECONDS
                deadline = own.monotonic() + patience
    except (Closed, KeyboardInterrupt):
        pass  # the tracer is gone, or the user wants out: so be it


def kept(connection, t_ns, patience):
    """Waits up to patience seconds for the word that the mark of that time is
    written. Returns the other messages that came meanwhile."""
    aside, deadline = [], own.monotonic() + patience
    while own.monotonic() < deadline:
        for message in connection.receive(deadline - own.monotonic()):
            told = message.get("kept")
            if isinstance(told, dict):
                if told.get("t_ns") == t_ns:
                    return aside
            else:
                aside.append(message)
    return aside


def answer(process, messages):
    """Does what the tracer asks. Returns whether it said continue."""
    for message in messages:
        do = message.get("do")
        if not isinstance(do, dict):
            continue
        if do.get("action") == "continue":
            return True
        if do.get("action") == "leave" and process.late is not None and not process.exiting:
            process.leave(do.get("id", 0))
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
