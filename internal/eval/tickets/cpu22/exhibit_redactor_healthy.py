"""A court clerk blacks out names and numbers on the scanned pages of an exhibit before it is made public.  The clerk
draws boxes, lightens stains and stamps pages, takes back what went wrong, sometimes does it again after all, and turns
to the next page of the bundle when one is done.

ticket: practice
class: none
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
UNDO_DEPTH = 16
PAGES = 24
HEIGHT, WIDTH = 1100, 850
EDITS_A_PAGE = 35


class Bundle:
    """The scanned pages of the exhibit."""

    def __init__(self, rng):
        self.pages = []
        for _ in range(PAGES):
            page = rng.integers(225, 256, (HEIGHT, WIDTH), dtype=np.uint8)
            for top in range(80, HEIGHT - 80, 22):
                end = int(rng.integers(300, WIDTH - 80))
                page[top:top + 9, 80:end] = rng.integers(0, 120, (9, end - 80), dtype=np.uint8)
            self.pages.append(page)


class Editor:
    """Works on a copy of one page; each step can be taken back."""

    def __init__(self, bundle):
        self.bundle = bundle
        self.number = 0
        self.page = bundle.pages[0].copy()
        self._undo = []
        self._redo = []
        self.blackened = 0

    def _remember(self):
        self._undo.append((self.number, self.page.copy()))
        self._redo.clear()
        if len(self._undo) > UNDO_DEPTH:
            del self._undo[0]

    def redact(self, top, left, height, width):
        self._remember()
        self.page[top:top + height, left:left + width] = 0
        self.blackened += height * width

    def lighten(self, top, left, size):
        self._remember()
        patch = self.page[top:top + size, left:left + size]
        np.minimum(255, patch.astype(np.uint16) + 40, out=patch, casting="unsafe")

    def stamp(self, mark):
        self._remember()
        rows, cols = mark.shape
        corner = self.page[HEIGHT - rows - 10:HEIGHT - 10, WIDTH - cols - 10:WIDTH - 10]
        np.minimum(corner, mark, out=corner)

    def undo(self):
        if not self._undo:
            return False
        self._redo.append((self.number, self.page))
        self.number, self.page = self._undo.pop()
        return True

    def redo(self):
        if not self._redo:
            return False
        self._undo.append((self.number, self.page))
        self.number, self.page = self._redo.pop()
        return True

    def turn_to(self, number):
        self._remember()
        self.number = number
        self.page = self.bundle.pages[number].copy()


class Clerk:
    """Decides what is done next."""

    def __init__(self, editor, rng):
        self.editor = editor
        self.rng = rng
        self.mark = rng.integers(0, 255, (90, 160), dtype=np.uint8)
        self.edits = 0
        self.taken_back = 0

    def work(self):
        pick = self.rng.random()
        editor = self.editor
        if pick < 0.16:
            for _ in range(int(self.rng.integers(1, 3))):
                self.taken_back += editor.undo()
            if self.rng.random() < 0.3:
                self.taken_back -= editor.redo()
            return
        self.edits += 1
        top, left = int(self.rng.integers(80, HEIGHT - 200)), int(self.rng.integers(80, WIDTH - 300))
        if self.edits % EDITS_A_PAGE == 0:
            editor.turn_to((editor.number + 1) % PAGES)
        elif pick < 0.75:
            editor.redact(top, left, 12, int(self.rng.integers(60, 220)))
        elif pick < 0.93:
            editor.lighten(top, left, 60)
        else:
            editor.stamp(self.mark)


def main():
    rng = np.random.default_rng(2209)
    bundle = Bundle(rng)
    clerk = Clerk(Editor(bundle), rng)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        clerk.work()
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            dark = float((clerk.editor.page < 40).mean())
            print(f"page {clerk.editor.number:2d}  edits {clerk.edits}  taken back {clerk.taken_back}  "
                  f"dark {dark:.3f}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"bundle sealed: {clerk.edits} edits, {clerk.editor.blackened} dots blackened", flush=True)


if __name__ == "__main__":
    main()
