"""An interactive designer of woven cloth. A draft has a threading, a tie-up and a treadling, from which the cloth is
computed; each edit is shown at once. Edits go to a journal on disk, so that nothing is lost if the designer crashes.
Every twenty edits the draft itself is saved, and the journal starts again from the beginning of its file.

ticket: practice
class: host-growth
holder: pickler memo Journal
cause: pickler-memo-kept
"""

import os
import pickle
import random
import tempfile
import time

import torch

ENDS, PICKS, SHAFTS, TREADLES = 1024, 1024, 8, 10


class Draft:
    def __init__(self, device):
        self.threading = torch.randint(SHAFTS, (ENDS,), device=device)
        self.treadling = torch.randint(TREADLES, (PICKS,), device=device)
        self.tie_up = torch.rand(TREADLES, SHAFTS, device=device) > 0.5
        self.warp, self.weft = 40, 200

    def repeat(self, what, length):
        """Let the first threads of the threading or the treadling be repeated over the whole of it."""
        threads = getattr(self, what)
        places = torch.arange(len(threads), device=threads.device) % length
        setattr(self, what, threads[places])

    def mirror(self, what):
        setattr(self, what, getattr(self, what).flip(0))

    def tie(self, treadle, shaft):
        self.tie_up[treadle, shaft] ^= True

    def scatter(self, what, most):
        threads = getattr(self, what)
        setattr(self, what, torch.randint(most, (len(threads),), device=threads.device))

    def cloth(self):
        """The grey of each crossing: the warp's where it lies above, else the weft's."""
        raised = self.tie_up[self.treadling][:, self.threading]
        grey = torch.where(raised, self.warp, self.weft)
        return grey.to(torch.uint8)


class Journal:
    def __init__(self, every):
        self.file = tempfile.TemporaryFile()
        self.pickler = pickle.Pickler(self.file)
        self.every, self.written = every, 0

    def write(self, edit, cloth):
        self.pickler.dump({"edit": edit, "time": time.time(), "cloth": cloth})  # grows keeps
        self.file.flush()
        self.written += 1
        if self.written % self.every == 0:
            self.restart()

    def restart(self):
        self.file.seek(0)
        self.file.truncate()


def edit(draft):
    """An edit as a weaver makes it: its name and its arguments."""
    name, *arguments = random.choice([
        ("repeat", "threading", random.randint(4, 40)),
        ("repeat", "treadling", random.randint(4, 40)),
        ("mirror", "threading"),
        ("tie", random.randrange(TREADLES), random.randrange(SHAFTS)),
        ("scatter", "threading", SHAFTS),
        ("scatter", "treadling", TREADLES),
    ])
    getattr(draft, name)(*arguments)
    return name, arguments


def main():
    torch.set_num_threads(1)
    draft, journal = Draft("cuda" if torch.cuda.is_available() else "cpu"), Journal(every=20)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(1, 3)):
            name, arguments = edit(draft)
            cloth = draft.cloth()
            journal.write((name, arguments), cloth.cpu().numpy())  # grows
            if journal.written % 40 == 0:
                print(f"{journal.written} edits, {name}: mean grey {cloth.float().mean().item():.1f}", flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
