"""A window of a few steps that is recorded with stacks, once in a program's life.

It opens at the end of a step: where the environment says, or by itself once the
program's steps are steady. It closes some steps later. The framework records; what
it recorded is told by the sampling thread, in parts."""

import os
import _weakref  # loaded already, as weakref is not

from gpumem_agent.own import own

VARIABLE = "GPUMEM_PROFILE"  # 0: never; steps:3,after:100; without it, by itself
STEPS = 3
AFTER = 30  # steps and
SECONDS = 3.0  # of steps, before a window opens by itself
STEADY = 0.01  # part by which live bytes may differ from step to step
SAME = 3  # such steps in a row
OPTIMIZERS = 16  # that are known
LATEST = 300.0  # a window that opens by itself does so at the latest after so long


class Window:
    """The window of one process."""

    def __init__(self, asked=None):
        if asked is None:
            asked = os.environ.get(VARIABLE, "")
        self._steps, self._after, self.is_asked = _settings(asked)
        self.is_done = self._steps <= 0
        self._recorder = None  # of the framework, while the window is open
        self._began = None  # when the first step was seen
        self._until = 0
        self._same, self._live = 0, None
        self._marks = []  # (steps, time) of the last steps seen
        self._ready = None  # a recorder whose record is to be told
        self._opened = ()
        self._optimizers = {}  # weak references to those that step, by identity

    @property
    def is_open(self):
        return self._recorder is not None

    def saw(self, optimizer):
        """An optimizer steps, before the window."""
        if id(optimizer) not in self._optimizers and len(self._optimizers) < OPTIMIZERS:
            self._optimizers[id(optimizer)] = _weakref.ref(optimizer)

    def at_step(self, process, now):
        """Opens or closes it, on the program's own thread at the end of a step."""
        count = process.steps.count
        if self._recorder is not None:
            self._recorder.step()
            if count >= self._until:
                self._close(count, now)
            return
        self._marks = self._marks[-3:] + [(count, now)]
        if self._is_time(process, count, now):
            self.is_done = True
            known = [o for o in (r() for r in self._optimizers.values()) if o is not None]
            self._optimizers = {}
            recorders = (f.recorder(known) for f in process.frameworks if f.active())
            self._recorder = next((r for r in recorders if r is not None), None)
            if self._recorder is not None:
                self._until = count + self._steps
                begun = own.perf_counter()
                try:
                    self._recorder.begin()
                except Exception:
                    self._recorder = None  # of a version that records otherwise
                    raise
                self._opened = count, own.monotonic(), own.perf_counter() - begun

    def _is_time(self, process, count, now):
        if self._began is None:
            self._began = now
        if self.is_asked:
            return count >= self._after
        live = process.held()[0]
        same = live is not None and self._live is not None
        same = same and abs(live - self._live) <= STEADY * max(live, self._live)
        self._same, self._live = self._same + 1 if same else 0, live
        age = now - self._began
        if process.sites_wanted or count < self._after or age < SECONDS or age > LATEST:
            return False
        return self._same >= SAME

    def _close(self, count, now):
        recorder, self._recorder = self._recorder, None
        first, opened, cost = self._opened
        begun = own.perf_counter()
        recorder.end()
        recorder.facts = {
            "from_step": first,
            "steps": count - first,
            "on_us": int(cost * 1e6),
            "off_us": int((own.perf_counter() - begun + recorder.seconds) * 1e6),
            "steps_us": int((now - opened) * 1e6),
        }
        usual = self._usual()
        if usual is not None:
            recorder.facts["usual_us"] = int(usual * (count - first) * 1e6)
        self._ready = recorder

    def _usual(self):
        """Seconds that a step took before the window."""
        (first, begun), (last, ended) = self._marks[0], self._marks[-1]
        return (ended - begun) / (last - first) if last > first else None

    def close(self, process):
        """The program ends: what is open is closed."""
        if self._recorder is not None:
            self._close(process.steps.count, own.monotonic())

    def tell(self, process):
        """Tells what was recorded, once. Not on the program's thread."""
        recorder, self._ready = self._ready, None
        if recorder is None:
            return
        parts = recorder.parts()
        for i, part in enumerate(parts):
            detail = dict(part, part=i, parts=len(parts))
            process.mark("window", recorder.name, detail=detail, patience=0.5)


def _settings(text):
    """(steps, after how many, whether somebody asked)."""
    if text in ("", "0"):
        return 0 if text else STEPS, AFTER, False
    values = dict(pair.partition(":")[::2] for pair in text.split(","))
    try:
        return int(values.get("steps", STEPS)), int(values.get("after", AFTER)), True
    except ValueError:
        return STEPS, AFTER, True
