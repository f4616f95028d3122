"""Functions that PyTorch's TorchScript makes: each that is traced or scripted anew stays in the
process's own table of them, torch.jit._state._python_cu, with the constants of its graph, after the
program has dropped it (torch/jit/_trace.py and _script.py, 1.13 and 2.11). Modules have tables of
their own, which end with them."""

import functools
import sys
import weakref

from gpumem_agent.compilations import Compilations

# Of torch._C, as torch.jit calls them.
MAKERS = ("_create_function_from_trace", "_create_function_from_trace_with_dict", "_jit_script_compile")


class Makers:
    """Counts the calls, by line of the program."""

    def __init__(self, module):
        self._module = module  # torch._C
        self._compilations = None
        self._wrapped = {}  # by name: what was there, and what is

    def arm(self, process):
        """Puts itself before the makers that this version has."""
        found = {name: getattr(self._module, name) for name in MAKERS if hasattr(self._module, name)}
        if found:
            self._compilations = Compilations(weakref.ref(process), "torch.jit")
        for name, make in found.items():
            self._wrapped[name] = make, _counted(make, self._compilations)
            setattr(self._module, name, self._wrapped[name][1])

    def forked(self):
        """Begins anew."""
        if self._compilations is not None:
            self._compilations.clear()

    def disarm(self):
        """Takes itself away again. Returns whether nothing stays: another may have put itself
        before it."""
        stays = False
        for name, (make, ours) in self._wrapped.items():
            if getattr(self._module, name, None) is ours:
                setattr(self._module, name, make)
            else:
                stays = True
        if self._wrapped:
            self._compilations.stop()
        self._wrapped = {}
        return not stays


def _counted(make, compilations):
    @functools.wraps(make)
    def counted(*arguments, **named):
        compilations.count(sys._getframe(1))
        return make(*arguments, **named)

    return counted
