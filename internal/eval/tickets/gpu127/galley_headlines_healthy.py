"""Headline reader for the galleys of a newspaper print shop.

Before a page is imposed, its galleys go through a small language model, which encodes every line of type.
Lines whose code lies far from the other lines of the same page are shown to the proofreader: most of the time
they are lines that slipped in from another galley.

ticket: practice
class: none
"""
import os
import time

import torch
from transformers import BertConfig, BertModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GALLEYS_PER_SECOND = 6
GALLEYS_PER_PAGE = 12
LINES = 8
LINE_TOKENS = 128
TYPE_CASE = 4096
WIDTH = 256


def build_reader(seed: int) -> BertModel:
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=TYPE_CASE,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=LINE_TOKENS,
    )
    return BertModel(config, add_pooling_layer=False).to(DEVICE).eval()


class Compositor:
    """Sets galleys; once in a while a line comes from another vocabulary."""

    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)
        self.galleys = 0
        self.slipped = 0

    def set_galley(self) -> torch.Tensor:
        half = TYPE_CASE // 2
        galley = torch.randint(5, half, (LINES, LINE_TOKENS), generator=self._generator)
        if torch.rand(1, generator=self._generator).item() < 0.15:
            line = int(torch.randint(LINES, (1,), generator=self._generator))
            galley[line] += half - 5
            self.slipped += 1
        self.galleys += 1
        return galley.to(DEVICE)


class GalleyReader:
    """Encodes galleys and compares the lines of a page with one another."""

    def __init__(self, model: BertModel):
        self.model = model
        self.lines_of_page: list[torch.Tensor] = []
        self.pages = 0
        self.shown = 0
        self._mask = torch.ones(LINES, LINE_TOKENS, dtype=torch.long, device=DEVICE)

    @torch.no_grad()
    def read(self, galley: torch.Tensor) -> None:
        output = self.model(input_ids=galley, attention_mask=self._mask)
        self.lines_of_page.append(output.last_hidden_state)

    def page_complete(self) -> bool:
        return len(self.lines_of_page) % GALLEYS_PER_PAGE == 0

    def proofread(self) -> tuple[int, float]:
        page = torch.cat([lines.mean(dim=1) for lines in self.lines_of_page[-GALLEYS_PER_PAGE:]])
        centre = page.mean(dim=0, keepdim=True)
        distance = torch.linalg.vector_norm(page - centre, dim=1)
        limit = distance.mean() + 3.0 * distance.std()
        odd = int((distance > limit).sum())
        self.shown += odd
        self.lines_of_page.clear()
        self.pages += 1
        return odd, distance.max().item()


def main() -> None:
    torch.set_num_threads(1)
    compositor = Compositor(seed=102)
    reader = GalleyReader(build_reader(seed=101))
    started = time.monotonic()
    due = started
    while time.monotonic() - started < SECONDS:
        reader.read(compositor.set_galley())
        if reader.page_complete():
            odd, furthest = reader.proofread()
            print(f"page {reader.pages}: {odd} lines for the proofreader, furthest {furthest:.3f}", flush=True)
        due += 1.0 / GALLEYS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"{compositor.galleys} galleys read, {reader.shown} lines shown, {compositor.slipped} slipped in", flush=True)


if __name__ == "__main__":
    main()
