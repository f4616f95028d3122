"""Kite festival: judging by contact sheets of the flying field.

A camera mast takes strips of the field while a heat is flown. After each heat all strips are laid out as one
contact sheet, from which a card with the middle part is cut for the board of the judges; the sheet begins
with one more line for each heat, its running caption. Between the heats the judges look over the cards on the
board.

ticket: practice
class: pool-growth
holder: cards
cause: fragmentation
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 5
ROUNDS_IN_HEAT = 15
WIDTH = 256
CARD_ROWS = 1024
MARGIN_ROWS = 32
SHEET_ROWS = 25440
BOARD_PLACES = 48
STRIPS = 32


class CameraMast:
    """Strips of the field, one for each look of the camera."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.strips = torch.zeros(STRIPS, 512, WIDTH, device=DEVICE)
        self.looks = 0

    def look(self):
        strip = self.strips[self.looks % STRIPS]
        strip.uniform_(0.0, 1.0, generator=self.generator)
        self.looks += 1
        return float(strip[::64].mean())


class ContactSheets:
    """Lays the strips out and cuts the card of a heat."""

    def __init__(self, mast):
        self.mast = mast

    def lay_out(self, sheet, captions):
        sheet[:captions].fill_(1.0)
        body = sheet[captions:]
        row = 0
        for strip in self.mast.strips:
            end = min(row + strip.shape[0], body.shape[0])
            body[row:end].copy_(strip[:end - row])
            row = end
        body[row:].fill_(0.5)

    def develop(self, heat):
        sheet = torch.empty(SHEET_ROWS + heat, WIDTH, device=DEVICE)  # grows
        self.lay_out(sheet, heat + 1)
        card = torch.empty(CARD_ROWS + MARGIN_ROWS, WIDTH, device=DEVICE)  # grows
        middle = (sheet.shape[0] - card.shape[0]) // 2
        card.copy_(sheet[middle:middle + card.shape[0]])
        return card


class JudgesBoard:
    """A card for each place; a new heat takes the place that was used longest ago."""

    def __init__(self):
        self.cards = [torch.zeros(CARD_ROWS, WIDTH, device=DEVICE) for _ in range(BOARD_PLACES)]
        self.heats = [None] * BOARD_PLACES

    def pin_up(self, heat, card):
        place = heat % BOARD_PLACES
        self.cards[place] = card  # keeps
        self.heats[place] = heat

    def look_over(self, place):
        card = self.cards[place % BOARD_PLACES]
        return float(card[-CARD_ROWS:].mean())


class Festival:
    def __init__(self):
        self.mast = CameraMast(44)
        self.sheets = ContactSheets(self.mast)
        self.board = JudgesBoard()
        self.rounds = 0
        self.heat = 0
        self.mark = 0.0

    def finish_heat(self):
        card = self.sheets.develop(self.heat)
        self.board.pin_up(self.heat, card)
        self.heat += 1

    def round(self):
        brightness = self.mast.look()
        self.mark = 0.9 * self.mark + 0.1 * (brightness + self.board.look_over(self.rounds))
        self.rounds += 1
        if self.rounds % ROUNDS_IN_HEAT == 0:
            self.finish_heat()


def main():
    torch.set_num_threads(1)
    festival = Festival()
    start = time.monotonic()
    due, next_print = start, start + 3.0
    while time.monotonic() - start < SECONDS:
        festival.round()
        if time.monotonic() >= next_print:
            next_print += 3.0
            shown = sum(1 for heat in festival.board.heats if heat is not None)
            print(f"heat {festival.heat}: {shown} cards on the board, mark {festival.mark:.4f}", flush=True)
        due += 1.0 / ROUNDS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"prizes given after {festival.heat} heats", flush=True)


if __name__ == "__main__":
    main()
