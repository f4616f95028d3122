"""python -m gpumem: the program gpumem, with the same arguments."""

from __future__ import annotations

import os
import sys

from gpumem import _binary


def main() -> int:
    try:
        program = _binary.find()
    except _binary.NotFound as missing:
        print("gpumem: %s" % missing, file=sys.stderr)
        return 1
    arguments = [program] + sys.argv[1:]
    if sys.platform != "win32":
        os.execv(program, arguments)  # signals and the terminal are then its own
    import subprocess

    try:
        return subprocess.run(arguments).returncode
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
