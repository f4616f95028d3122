"""C functions, called through _ctypes.

The package ctypes would serve, too. But it imports several modules of the standard
library, which the program's own finders would see; it costs some milliseconds, and
each forked child one more at its end.
"""

import os

from gpumem_agent import imports


class Native:
    """The types and functions of C that the agent uses. Functions are those of the
    process: of its program, of the interpreter and of the C library."""

    def __init__(self):
        """Raises ImportError where the interpreter has no _ctypes."""
        self._ctypes = _ctypes = imports.bring("_ctypes")

        class Int(_ctypes._SimpleCData):
            _type_ = "i"

        class Unsigned(_ctypes._SimpleCData):
            _type_ = "I"

        class Size(_ctypes._SimpleCData):
            _type_ = "L"

        class Count(_ctypes._SimpleCData):
            _type_ = "q"

        class Byte(_ctypes._SimpleCData):
            _type_ = "B"

        class Short(_ctypes._SimpleCData):
            _type_ = "H"

        class Python(_ctypes._SimpleCData):
            _type_ = "O"

        class Pointer(_ctypes._SimpleCData):
            _type_ = "P"

        class Char(_ctypes._SimpleCData):
            _type_ = "c"

        class Text(_ctypes._SimpleCData):  # ends with a zero byte
            _type_ = "z"

        self.Int, self.Unsigned, self.Size = Int, Unsigned, Size
        self.Count, self.Byte, self.Short, self.Python = Count, Byte, Short, Python
        self.Pointer, self.Char, self.Text = Pointer, Char, Text
        self.byref = _ctypes.byref
        self._process = _ctypes.dlopen(None, 0)

    def has(self, name):
        """Whether the process has a function of that name."""
        try:
            return self._ctypes.dlsym(self._process, name) != 0
        except OSError:
            return False

    def address(self, name):
        """Where the function of that name lies. Raises OSError when there is none."""
        return self._ctypes.dlsym(self._process, name)

    def of_library(self, file, name):
        """A function of that name, of a library that is loaded or of those that it needs,
        that takes nothing and returns a count. Raises OSError when there is none."""
        mode = getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0)
        address = self._ctypes.dlsym(self._ctypes.dlopen(file, mode), name)
        return self.prototype(self.Count)(address)

    def structure(self, *fields):
        """A type of structure, of pairs of a name and a type."""

        class Structure(self._ctypes.Structure):
            _fields_ = fields

        return Structure

    def prototype(self, result, *arguments, is_python=False):
        """A type of functions; is_python: they run under the interpreter's lock."""
        flags = self._ctypes.FUNCFLAG_CDECL
        if is_python:
            flags |= self._ctypes.FUNCFLAG_PYTHONAPI

        class Function(self._ctypes.CFuncPtr):
            _flags_, _restype_, _argtypes_ = flags, result, arguments

        return Function

    def function(self, name, result, *arguments, is_python=False):
        """The function of that name. Raises OSError when there is none."""
        return self.prototype(result, *arguments, is_python=is_python)(self.address(name))
