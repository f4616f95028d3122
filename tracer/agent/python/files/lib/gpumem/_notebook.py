"""%load_ext gpumem: %gpumem and %%gpumem run a line or a cell under watch, and show
the report below it."""

from __future__ import annotations

import html

from gpumem._watch import INTERVAL, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEIGHT = 480  # pixels of the frame; it scrolls

USAGE = """usage: %%gpumem [-n TIMES] [-t] [NAME]
  -n TIMES  run the cell so often; each time is a step, which tells growth from first-time work
  -t        the report as text
  NAME      put the finished gpumem.Watch into this variable"""


def load(shell: Any) -> None:
    """Adds the magics to an IPython shell."""
    magic = _Magic(shell)
    shell.register_magic_function(magic.line, magic_kind="line", magic_name="gpumem")
    shell.register_magic_function(magic.cell, magic_kind="cell", magic_name="gpumem")


def unload(shell: Any) -> None:
    """Takes them away."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("gpumem", None)


class _Options:
    """What stands behind %%gpumem. Raises ValueError."""

    def __init__(self, line: str) -> None:
        self.times, self.is_text, self.variable = 1, False, ""
        words = line.split()
        while words:
            word = words.pop(0)
            if word == "-t":
                self.is_text = True
            elif word == "-n" and words and words[0].isdecimal() and int(words[0]) > 0:
                self.times = int(words.pop(0))
            elif word.isidentifier() and not self.variable:
                self.variable = word
            else:
                raise ValueError("%%%%gpumem: cannot read %r\n%s" % (word, USAGE))


class _Magic:
    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def line(self, line: str) -> None:
        """%gpumem STATEMENT: runs it under watch and shows the report."""
        if not line.strip():
            print(USAGE)
            return
        self._run(_Options(""), line)

    def cell(self, line: str, cell: str) -> None:
        """%%gpumem: runs the cell under watch and shows the report below it."""
        try:
            options = _Options(line)
        except ValueError as error:
            print(error)
            return
        self._run(options, cell)

    def _run(self, options: _Options, code: str) -> None:
        import gpumem

        watch = Watch("cell", INTERVAL)
        with watch:
            for _ in range(options.times):
                result = self._shell.run_cell(code)
                if result.error_before_exec or result.error_in_exec:
                    break  # the shell has printed it
                gpumem.step()
        if options.variable:
            self._shell.user_ns[options.variable] = watch
        _show(watch, options.is_text)


def _show(watch: Watch, is_text: bool) -> None:
    """Shows the report, and the answer where there is no HTML."""
    from IPython.display import display

    try:
        if is_text:
            print(watch.text())
            return
        page = watch.html()
    except RuntimeError:
        print(watch.answer)  # which says why there is no report
        return
    display({"text/plain": watch.answer, "text/html": framed(page)}, raw=True)


def framed(page: str) -> str:
    """A page inside of a notebook's: in a frame, so that neither touches the other."""
    return (
        '<iframe sandbox="allow-scripts allow-popups" style="width:100%%;height:%dpx;border:0" '
        'title="gpumem report" srcdoc="%s"></iframe>' % (HEIGHT, html.escape(page, quote=True))
    )
