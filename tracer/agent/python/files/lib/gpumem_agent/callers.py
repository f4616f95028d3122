"""Tells gpumem's interposer where this interpreter keeps its frames.

The interposer (tracer/capture/inject/python.c) then knows which line of Python a call
of the driver comes from, without a lock and without running Python. No version of
CPython promises where its frames lie. So the places are found by objects that are known
here, and the interposer copies what is read for it, as far as the kernel says that it is
memory. They are adopted when the interposer, with them, names lines that are known; else
it goes on without lines.
"""

import os
import sys

from gpumem_agent.native import Native

WORD = 8
ROOM = 1024  # bytes of a line's text
STATE_WORDS = 64  # of a thread's state that are looked at
FRAME_WORDS = 14  # of a frame
HOPS = 12  # calls between a frame that is searched and the reader's own
HAS_INNER_FRAMES = sys.version_info >= (3, 11)  # beside frame objects
STATE_HAS_FRAME = sys.version_info < (3, 11) or sys.version_info >= (3, 13)
INSTRUCTION = 2 if sys.version_info >= (3, 10) else 1  # bytes that an index counts in

OFFSETS = ("frame", "hop", "code", "previous", "instruction", "unit", "first")  # see python.h
OFFSETS += ("file", "name", "length", "text", "padding")

NO_FILE = "<gpumem>"  # tools that follow lines pass over such names
CHECKS = """
def plain(look):
    return look()


def sorts(look):
    return sorted([1, 0], key=lambda n: seen.append(look()) or n) and seen[-1]


def generates(look):
    def all_of():
        yield 1
        yield look()

    return list(all_of())[-1]


def deep(look, n=12):
    return deep(look, n - 1) if n else look()


seen = []
"""
FRAMES = 24  # of a stack that are compared
LONGEST_FILE, LONGEST_NAME = 760, 240  # that the interposer tells


def open_callers():
    """The interposer of this process, or None where there is none or where this
    interpreter is not known to fit."""
    if sys.implementation.name != "cpython" or WORD * 8 != sys.maxsize.bit_length() + 1:
        return None
    if getattr(sys, "_is_gil_enabled", lambda: True)() is False:
        return None
    if "GPUMEM_CAPTURE_DIR" not in os.environ:  # where the interposer records
        return None
    try:
        native = Native()
        return Callers(native) if native.has("gpumem_python") else None
    except (ImportError, OSError, AttributeError, TypeError):
        return None


class Callers:
    """How the interposer learns of lines. It keeps all types that it makes, which would
    be garbage for the program's collector to find."""

    def __init__(self, native):
        integer, pointer, size = native.Int, native.Pointer, native.Size
        self._native = native
        self._search = Search(native)
        self._text = (native.Char * ROOM)()
        addresses = [(n, size) for n in ("state", "line", "code_type")]
        self._shape = native.structure(*addresses + [(n, native.Unsigned) for n in OFFSETS])
        self._adopt = native.function("gpumem_python", None, pointer)
        self._place = native.function(
            "gpumem_python_place", integer, pointer, native.Unsigned, pointer, size
        )
        self._wanted = native.function("gpumem_python_wanted", integer)
        self._stop = native.function("gpumem_python_stop", None)
        self._layout = None
        self._is_known = True  # as far as was tried

    def are_wanted(self):
        """Whether this process came near the driver and was told nothing yet."""
        return self._is_known and self._wanted() != 0

    @property
    def is_told(self):
        """Whether the layout was found, and told."""
        return self._layout is not None

    def tell(self):
        """Finds the layout, where that was not done, and has it adopted for this
        process. Where it is not found, nothing more is wanted."""
        if self._layout is None:
            layout = self._find()
            self._is_known = layout is not None and self._is_right(layout)
            self._layout = layout if self._is_known else None
        if self._layout is not None:
            self._adopt(self._native.byref(self._layout))

    def stop(self):
        """Ends it: the interpreter frees the states of threads that still run."""
        self._is_known = False
        self._stop()

    def _find(self):
        found = _outer(self._search)
        if found is None:
            return None
        native, layout = self._native, self._shape()
        layout.state = native.address("PyGILState_GetThisThreadState")
        layout.line = native.address("PyCode_Addr2Line")
        layout.code_type = id(type(_outer.__code__))
        for name, value in found.items():
            setattr(layout, name, value & 0xFFFFFFFF)
        return layout

    def _is_right(self, layout):
        """Whether the interposer, with a layout, tells the lines that the interpreter tells:
        of all frames that led here, and below them in calls of several kinds."""

        def look():
            told, expected = self._stack(layout)[1:], _stack(sys._getframe(1))
            n = min(len(told), len(expected))
            return n > 0 and told[:n] == expected[:n]

        names = {}
        exec(compile(CHECKS, NO_FILE, "exec"), names)
        is_right = all([names[name](look) for name in ("plain", "sorts", "generates", "deep")])
        names.clear()  # functions and their names refer to each other
        return is_right

    def _stack(self, layout):
        """Lines that the interposer tells, beginning with look's."""
        byref, text, found = self._native.byref, self._text, []
        for depth in range(1, FRAMES):
            n = self._place(byref(layout), depth, byref(text), ROOM)
            if n < 0:
                break
            found.append(bytes(text)[:n].decode("ascii", "replace"))
        return [line for line in found if _counts(line)]


def _stack(frame):
    """Lines of a frame and those that called it."""
    found = []
    while frame is not None and len(found) < FRAMES:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        line = "%s:%s %s" % (file, frame.f_lineno, name)
        is_told = frame.f_lineno is not None and line.isascii() and line.isprintable()
        if is_told and len(file) < LONGEST_FILE and len(name) < LONGEST_NAME:
            found.append(line)
        frame = frame.f_back
    return [line for line in found if _counts(line)]


def _counts(line):
    """Whether a line is in a file, or in what is checked: the interpreter has frames of its
    own between the program's."""
    return bool(line) and (line[0] != "<" or line.startswith(NO_FILE))


def _outer(search):
    return _inner(search)


def _inner(search):
    return search.layout(sys._getframe())


class Search:
    """Looks in memory for what is known of two frames."""

    def __init__(self, native):
        size, pointer = native.Size, native.Pointer
        self._native, self._text = native, (native.Char * ROOM)()
        self._copy = native.function("gpumem_python_copy", native.Int, size, pointer, size)
        self._state = native.function("PyGILState_GetThisThreadState", pointer)

    def words(self, at, count):
        """What stands at an address, words of the machine; none where no memory is."""
        n = min(count * WORD, ROOM)
        if not at or at % WORD or not self._copy(at, self._native.byref(self._text), n):
            return []
        raw = bytes(self._text)[:n]
        return [int.from_bytes(raw[i : i + WORD], sys.byteorder) for i in range(0, n, WORD)]

    def layout(self, frame):
        """Offsets, by frames that called: None where they are not found."""
        back = frame.f_back
        inner, outer, code = self._frames(frame, back)
        if inner is None:
            return None
        here, there = self.words(inner, FRAME_WORDS), self.words(outer, FRAME_WORDS)
        found = {"code": code, "hop": -1, "padding": 0}
        if outer not in here:
            return None
        found["previous"] = here.index(outer) * WORD
        for part in (self._instruction, self._thread, self._names):
            more = part(frame, inner, outer, here, there, found)
            if more is None:
                return None
            found.update(more)
        return found

    def _frames(self, frame, back):
        """Where two frames lie, and the offset of their code in them."""
        if not HAS_INNER_FRAMES:
            code = _index(self.words(id(frame), FRAME_WORDS), id(frame.f_code))
            return (id(frame), id(back), code * WORD) if code is not None else (None,) * 3
        ours, theirs = self.words(id(frame), 8), self.words(id(back), 8)
        for inner, outer in zip(ours, theirs):
            if inner == outer or inner < 4096:
                continue
            code = _index(self.words(inner, FRAME_WORDS), id(frame.f_code))
            if code is not None and code == _index(
                self.words(outer, FRAME_WORDS), id(back.f_code)
            ):
                return inner, outer, code * WORD
        return (None,) * 3

    def _instruction(self, frame, inner, outer, here, there, found):
        """Where the instruction stands that a frame is at."""
        back = frame.f_back
        if HAS_INNER_FRAMES:
            for i, (a, b) in enumerate(zip(here, there)):
                first = b - id(back.f_code) - back.f_lasti
                if 64 <= first <= 512 and a - id(frame.f_code) - frame.f_lasti == first:
                    return {"instruction": i * WORD, "unit": 0, "first": first}
            return None
        a, b = frame.f_lasti // INSTRUCTION, back.f_lasti // INSTRUCTION
        size = type(frame).__basicsize__ // WORD
        ours, theirs = self.words(inner, size), self.words(outer, size)
        for i in range(2 * len(ours)):
            shift = 32 * (i % 2)
            if ours[i // 2] >> shift & 0xFFFFFFFF == a and theirs[i // 2] >> shift & 0xFFFFFFFF == b:
                return {"instruction": i * 4, "unit": INSTRUCTION, "first": 0}
        return None

    def _thread(self, frame, inner, outer, here, there, found):
        """Where the state of this thread has its innermost frame: from there a few
        calls lead to the frame that is known."""
        state = self._state()
        for i, value in enumerate(self.words(state, STATE_WORDS)):
            if STATE_HAS_FRAME:
                if self._leads(value, inner, found):
                    return {"frame": i * WORD}
                continue
            for hop, further in enumerate(self.words(value, 4)):
                if self._leads(further, inner, found):
                    return {"frame": i * WORD, "hop": hop * WORD}
        return None

    def _leads(self, at, frame, found):
        """Whether callers of the frame at an address are known: its own code first."""
        for hop in range(HOPS):
            if at == frame:
                return hop > 0
            words = self.words(at, FRAME_WORDS)
            if not words:
                return False
            code = self.words(words[found["code"] // WORD] & ~7, 2)
            if hop == 0 and code[1:] != [id(type(_outer.__code__))]:
                return False
            at = words[found["previous"] // WORD] & ~7
        return False

    def _names(self, frame, inner, outer, here, there, found):
        """Where code has its names, and strings their text."""
        code = frame.f_code
        words = self.words(id(code), type(code).__basicsize__ // WORD)
        file, name = _index(words, id(code.co_filename)), _index(words, id(code.co_name))
        if file is None or name is None or self.words(id(code.co_name), 4)[2:3] != [len(code.co_name)]:
            return None
        return {
            "file": file * WORD,
            "name": name * WORD,
            "length": 2 * WORD,
            "text": sys.getsizeof("") - 1,
        }


def _index(words, value):
    """The first word that refers to the object with that identity."""
    for i, word in enumerate(words):
        if word == value or word & ~7 == value:
            return i
    return None
