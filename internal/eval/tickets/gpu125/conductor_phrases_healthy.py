"""Announcements on a night train.

The conductor's phrases come as tokens in several languages; a small encoder, made from a configuration, turns batches
of them into vectors, by which the nearest recorded announcement is found. For each batch the output of two layers is
read as well, to see whether the languages come closer to each other from layer to layer.

ticket: practice
class: none
"""
import itertools
import os
import time
from functools import partial

import torch
from transformers import BertConfig, BertModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

BATCHES_PER_S = 4
BATCH, LENGTH, WIDTH = 8, 80, 256
VOCABULARY = 8000
RECORDINGS = 20_000
LAYERS_READ = (0, 2)


def make_encoder():
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=128,
    )
    return BertModel(config, add_pooling_layer=False).to(DEVICE).eval()


class LayerReading:
    """The output of some layers of the encoder for one batch, by layer."""

    def __init__(self, encoder, layers):
        self.activations = {}
        self.handles = []
        for layer in layers:
            module = encoder.encoder.layer[layer].output
            self.handles.append(module.register_forward_hook(partial(self._read, layer)))

    def _read(self, layer, module, args, output):
        self.activations.setdefault(layer, output.detach())

    def close(self):
        for handle in self.handles:
            handle.remove()

    def closeness(self, layer):
        """Mean cosine between the phrases of the batch, as that layer has them."""
        phrases = torch.nn.functional.normalize(self.activations[layer].mean(dim=1), dim=1)
        cosine = phrases @ phrases.T
        return (cosine.sum() - cosine.trace()) / (BATCH * (BATCH - 1))


class AnnouncementFinder:
    def __init__(self, seed=19):
        torch.manual_seed(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.encoder = make_encoder()
        self.recordings = torch.randn(RECORDINGS, WIDTH, generator=self.generator, device=DEVICE)
        self.closeness = {layer: 0.0 for layer in LAYERS_READ}
        self.found = 0

    def phrases(self):
        return torch.randint(5, VOCABULARY, (BATCH, LENGTH), generator=self.generator, device=DEVICE)

    @torch.no_grad()
    def find(self, tokens):
        reading = LayerReading(self.encoder, LAYERS_READ)
        try:
            mask = torch.ones_like(tokens)
            hidden = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
            nearest = (hidden.mean(dim=1) @ self.recordings.T).argmax(dim=1)
            for layer in LAYERS_READ:
                self.closeness[layer] = 0.9 * self.closeness[layer] + 0.1 * reading.closeness(layer).item()
        finally:
            reading.close()
        self.found += len(nearest)
        return nearest.tolist()


def main():
    torch.set_num_threads(1)
    finder = AnnouncementFinder()
    start = time.monotonic()
    due = start
    for batch in itertools.count(1):
        if time.monotonic() - start >= SECONDS:
            break
        nearest = finder.find(finder.phrases())
        if batch % (3 * BATCHES_PER_S) == 0:
            closeness = ", ".join(f"layer {layer} {value:.4f}" for layer, value in finder.closeness.items())
            print(f"batch {batch}: recording {nearest[0]}, closeness {closeness}", flush=True)
        due += 1.0 / BATCHES_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"good night: {finder.found} announcements found", flush=True)


if __name__ == "__main__":
    main()
