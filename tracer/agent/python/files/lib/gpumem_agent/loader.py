"""Loads the agent's own files.

Most are needed only when a look comes, long after the start. Where the program keeps nothing that is compiled
(PYTHONDONTWRITEBYTECODE), they would be compiled anew in each process then: 58 to 70 ms on a virtual machine,
in which its threads wait. The folder is ours, so they are kept in it."""

import marshal
import os
import sys
from _frozen_importlib_external import MAGIC_NUMBER, FileFinder, SourceFileLoader

FOLDERS = ("", "frameworks", "holders")  # of the package


class Loader(SourceFileLoader):
    """As the program's loader, but for what it does with what it had to compile."""

    def source_to_code(self, data, path, **options):
        code = super().source_to_code(data, path, **options)
        if sys.dont_write_bytecode:
            self._keep(code, path)
        return code

    def _keep(self, code, path):
        """Writes the file that the next process finds; see PEP 552. It tells no error."""
        folder, name = os.path.split(path)
        optimized = ".opt-%d" % sys.flags.optimize if sys.flags.optimize else ""
        name = "%s.%s%s.pyc" % (name[: -len(".py")], sys.implementation.cache_tag, optimized)
        about = self.path_stats(path)
        numbers = (0, int(about["mtime"]), about["size"])
        header = b"".join((n & 0xFFFFFFFF).to_bytes(4, "little") for n in numbers)
        self.set_data(os.path.join(folder, "__pycache__", name), MAGIC_NUMBER + header + marshal.dumps(code))


def install():
    """From now on loads what lies in the package's folders so. Nothing else is touched."""
    package = os.path.dirname(os.path.abspath(__file__))
    for folder in FOLDERS:
        path = os.path.join(package, folder) if folder else package
        sys.path_importer_cache[path] = FileFinder(path, (Loader, [".py"]))
