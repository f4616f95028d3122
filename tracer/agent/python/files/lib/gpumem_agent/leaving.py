"""How the agent ends: with its program, or before it. What is still untold is told first."""

import sys

from gpumem_agent import requests
from gpumem_agent.own import own
from gpumem_agent.sampling import paused


def leave(process, number=None):
    """Takes the agent out of a program that ran before it came: asked for by
    the tracer, whose request has the number, or because the tracer has gone.
    Called on the sampling thread, which ends with it."""
    if process.exiting:
        return
    process.exiting = True
    process.sampler.finish()
    paused.over()
    process.close_windows()
    if number is not None and not process.late.only_looks:
        _tell_memory(process)
    stays = process.late.leave()
    process.forks.retire(process.late)
    if number is not None:
        with process.quiet():
            _confess(process)
        done = {"id": number, "detail": {"stays": stays}}
        with process.quiet():
            process.connection.send({"done": done}, patience=1.0)
            process.connection.knock()
    process.connection.close()
    late = process.late
    vars(process).clear()
    process.exiting = True  # for functions of ours that the program keeps
    late.sweep()


def end(process):
    """Ends with the interpreter, after the program's own handlers."""
    with process.quiet():
        process.exiting = True
        process.close_windows()
        process.arrivals.end()
        if process.is_forked and not process.connection.is_open:
            return  # a child that ended soon; its thread has not begun
        process.sampler.stop()
        if not process.connection.is_open or process.pid != own.getpid():
            return
        process.sample(heap=True)
        _tell_memory(process)
        _confess(process)
        error = getattr(sys, "last_value", None)
        if error is not None and not isinstance(error, (SystemExit, KeyboardInterrupt)):
            from gpumem_agent import deaths

            deaths.tell(process, error)
        if process.hold and not process.has_survivors():
            process.greeting.say("python", {})
        process.mark("phase", "exiting")
        if process.hold:
            requests.hold(process)
    with process.quiet():
        process.connection.close()


def _tell_memory(process):
    """Tells what live memory is made of at the end, and a window that was not
    told yet."""
    with process.quiet():
        process.window.close(process)
        process.window.tell(process)
    with process.quiet():
        for framework in process.frameworks:
            found = framework.composition() if framework.active() else None
            if found:
                process.mark("composition", framework.name, detail=found)


def _confess(process):
    """Says what was lost, if anything was."""
    if process.errors:
        text = "the Python agent had %d errors, first: %s" % (process.errors, process.first_error)
        process.mark("warning", text)
