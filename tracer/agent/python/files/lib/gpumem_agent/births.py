"""The lines that start the program's processes: Process.start and Popen.

Both classes note in the instance that a process was started. A descriptor in the
class's place for that attribute sees it, so no call of the program goes through a
function of ours, and tracebacks stay as they are.
"""

import os
import sys

# Module to wait for, its class, the attribute set once the child runs, and where its
# pid is then.
CLASSES = {
    "subprocess": ("Popen", "_child_created", lambda started: started.pid),
    "multiprocessing.process": ("BaseProcess", "_sentinel", lambda started: started._popen and started._popen.pid),
}
MOST = 500  # processes told of each process
LIBRARY = os.path.dirname(os.__file__) + os.sep
PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
OWN = os.path.dirname(__file__) + os.sep


class Started:
    """The attribute. It is kept where it would be without us: in the instance, and
    until then it is the class's."""

    def __init__(self, name, default, tell):
        self._name, self._default, self._tell = name, default, tell

    def __get__(self, instance, kind=None):
        if instance is not None and self._name in instance.__dict__:
            return instance.__dict__[self._name]
        if self._default:
            return self._default[0]
        raise AttributeError(self._name)

    def __set__(self, instance, value):
        instance.__dict__[self._name] = value
        if value:
            self._tell(instance, sys._getframe(1))

    def __delete__(self, instance):
        try:
            del instance.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None


def watch(process, module, name):
    """Has the process told of each child that is started by a class of a module.
    Returns what undoes that."""
    class_name, attribute, pid_of = CLASSES[name]
    kind = getattr(module, class_name)
    default = [kind.__dict__[attribute]] if attribute in kind.__dict__ else []

    def tell(started, frame):
        with process.quiet():
            if process.exiting or process.births >= MOST:
                return
            pid = pid_of(started)
            if pid:  # a stand-in for the parent, in a child, has none
                process.births += 1
                process.mark("child", "", at=site(frame), detail={"pid": pid})

    ours = Started(attribute, default, tell)
    setattr(kind, attribute, ours)

    def undo():
        if kind.__dict__.get(attribute) is ours:
            if default:
                setattr(kind, attribute, default[0])
            else:
                delattr(kind, attribute)

    return undo


def site(frame):
    """Where the program started a process: the first frame outside of the language's
    library and of what is installed beside it, else the first outside of the library."""
    installed = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(("<", OWN)):
            found = "%s:%d %s" % (name, frame.f_lineno or 0, frame.f_code.co_name)
            if not any(folder in name for folder in PACKAGES):
                if not name.startswith(LIBRARY):
                    return found
            elif not installed:
                installed = found
        frame = frame.f_back
    return installed
