"""Modules that came into the program, and what the agent does about each."""

import sys

from gpumem_agent import imports


class Arrivals:
    """The modules that were noticed in one process. They outlive a fork."""

    def __init__(self, process):
        self._process = process
        self._armed = set()
        self._callers = None  # False where no interposer is

    def noticed(self, name):
        """A module has run that imports.Watch waits for. Called on the importing thread."""
        with self._process.quiet():
            self.arm(name)

    def arm(self, name):
        """Does what the module is waited for, once."""
        module = sys.modules.get(name)
        if module is None or name in self._armed:
            return
        self._armed.add(name)
        process = self._process
        if name == imports.CTYPES:
            from gpumem_agent import alone

            process.on_leave(alone.wrap_ctypes(process, module))
        elif name in imports.BIRTHS:
            from gpumem_agent import births

            process.on_leave(births.watch(process, module, name))
        else:
            self._arm_framework(name, module)

    def _arm_framework(self, name, module):
        process = self._process
        from gpumem_agent import frameworks

        framework = frameworks.make(imports.FRAMEWORKS[name], module, process)
        framework.prepare()
        if process.late is None or not process.late.only_looks:
            framework.arm()
        if process.late is not None:
            framework.came_late()
        process.frameworks.append(framework)
        process.surveys.restart()
        self._tell_callers(is_due=True)
        # Run before the exit handlers that the framework just registered:
        # after them its arrays may be gone.
        import atexit

        atexit.unregister(process.end)
        atexit.register(process.end)

    def look(self):
        """Catches modules that came in past the finder, and a driver that is near."""
        for name in imports.FRAMEWORKS:
            if name not in self._armed and imports.loaded(name):
                self.arm(name)
        if self._callers or self._callers is None and imports.loaded(imports.CTYPES):
            self._tell_callers()

    def _tell_callers(self, is_due=False):
        """Lets the interposer know which line calls the driver, once that is due or the
        driver is near; again in a child that was forked. A program that cannot call it, as
        it has neither ctypes nor a framework, shall not see what this needs."""
        if self._callers is None:
            imports.bring("gpumem_agent.native")  # which the next one needs
            self._callers = imports.bring("gpumem_agent.callers").open_callers() or False
        if self._callers and (is_due or self._callers.are_wanted()):
            self._callers.tell()

    def knows_lines(self):
        """Has the interposer know the lines of this process, and returns whether it is there
        to know them."""
        self._tell_callers(is_due=True)
        return bool(self._callers) and self._callers.is_told

    def end(self):
        """The interposer asks no more which line calls it."""
        if self._callers:
            self._callers.stop()
