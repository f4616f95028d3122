"""How long a bookbinder's press must stand on books of growing thickness.

A text block is a pile of sheets, each with its own waviness. Under the press every sheet yields to the ones above
and below it until the pile lies flat. The binder wants a table: for thin books and for thick ones, how flat is the
pile after a given number of turns of the spindle? So the trials go from thin to thick, eight sheets more each time,
and begin again with the thinnest when the thickest has been pressed. Between two trials the paper of the next book
is judged on a proof of fixed size.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn.functional as F

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIDE = 256
THINNEST = 160
MORE = 8
THICKEST = 480
TURNS = 6
PROOF = 384
TRIAL = 2.0


class Press:
    """The press, with a pile of sheets in it during a trial."""

    def __init__(self):
        rows = torch.linspace(0, 6.0, SIDE, device=DEVICE)[:, None]
        columns = torch.linspace(0, 6.0, SIDE, device=DEVICE)[None, :]
        self.warp = 0.3 * torch.sin(rows) * torch.cos(columns)
        self.bed = torch.zeros(THICKEST, SIDE, SIDE, device=DEVICE)
        self.between = torch.zeros(THICKEST // 2, SIDE, SIDE, device=DEVICE)

    def pile_up(self, sheets):
        pile = self.bed[:sheets]
        pile.normal_(0.0, 0.1)
        pile += self.warp
        return pile

    def turn(self, pile):
        even, odd = pile[0::2], pile[1::2]
        push = self.between[:len(even)]
        torch.sub(even, odd, out=push)
        even.sub_(push, alpha=0.25)
        odd.add_(push, alpha=0.25)
        push = self.between[:len(even) - 1]
        torch.sub(odd[:-1], even[1:], out=push)
        odd[:-1].sub_(push, alpha=0.25)
        even[1:].add_(push, alpha=0.25)
        pile *= 0.97

    def trial(self, sheets):
        pile = self.pile_up(sheets)
        before = float(pile.norm())
        for _ in range(TURNS):
            self.turn(pile)
        return float(pile.norm()) / before


class PaperTable:
    """Judges the paper of the next book: how its fibres lie on a proof."""

    def __init__(self):
        self.strokes = torch.randn(12, 1, 9, 9, device=DEVICE)
        self.strokes -= self.strokes.mean((2, 3), keepdim=True)

    def judge(self):
        proof = torch.rand(1, 1, PROOF, PROOF, device=DEVICE)
        lie = F.conv2d(proof, self.strokes, padding=4).abs().mean((0, 2, 3))
        return int(lie.argmax()), float(lie.max())


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(52)
    press = Press()
    papers = PaperTable()
    table = {}
    sheets = THINNEST
    trials = 0
    while time.time() < end:
        began = time.time()
        table[sheets] = press.trial(sheets)
        trials += 1
        way, strength = papers.judge()
        while time.time() - began < TRIAL and time.time() < end:
            way, strength = papers.judge()
            time.sleep(0.1)
        if trials % 3 == 0:
            print(
                f"trial {trials}: {sheets} sheets keep {table[sheets]:.3f} of their waves;"
                f" fibres of the next paper lie {way} ({strength:.2f})",
                flush=True,
            )
        sheets = sheets + MORE if sheets + MORE <= THICKEST else THINNEST
    print(f"{trials} trials, {len(table)} lines in the table", flush=True)


if __name__ == "__main__":
    main()
