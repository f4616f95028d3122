"""The exception that ended a program, as the interpreter noted it."""

from gpumem_agent import mappings
from gpumem_agent.sites import choose

FRAMES = 50  # of its traceback, the innermost
TEXT = 3000  # characters of its message


def tell(process, error):
    """Tells the tracer what ended the program, and where."""
    kind = type(error)
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.insert(0, (code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    at = choose(frames[:FRAMES]) if frames else ""
    detail = {"text": str(error)[:TEXT]}
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == mappings.ENOMEM:
        detail.update(mappings.told())
    if isinstance(error, (MemoryError, OSError, RuntimeError)):  # the last of PyTorch's
        detail.update(mappings.addresses())
    for framework in process.frameworks:
        if framework.name == kind.__module__.partition(".")[0].replace("jaxlib", "jax"):
            detail.update(framework.limits())
    process.mark("died", "%s.%s" % (kind.__module__, kind.__qualname__), at=at, detail=detail)
