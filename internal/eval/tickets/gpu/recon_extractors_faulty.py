"""Images are reconstructed from features, one after the other, with one shared encoder. Each
reconstruction makes an extractor, whose hooks stay on the encoder and go on taking features.

ticket: KamitaniLab/bdpy#72
class: app-leak
holder: _forward_hooks _features FeatureExtractor
cause: hooks-left
"""

import logging
import os
import random
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
log = logging.getLogger("recon")


def make_encoder():
    layers, channels = [], 3
    for width in (24, 48, 64):
        layers += [torch.nn.Conv2d(channels, width, 3, stride=2, padding=1), torch.nn.GELU()]
        channels = width
    return torch.nn.Sequential(*layers).to(device).eval().requires_grad_(False)


class FeatureExtractor:
    """The features of some layers, in half precision when they are targets."""

    def __init__(self, encoder, layers, detach=False):
        self._encoder, self._detach, self._features = encoder, detach, {}
        self._handles = [encoder[i].register_forward_hook(self._hook(i)) for i in layers]  # keeps

    def _hook(self, layer):
        def hook(module, inputs, output):
            if self._detach:
                output = output.detach().half()  # grows
            self._features[layer] = output

        return hook

    def run(self, x):
        self._encoder(x)
        return {layer: f.float() for layer, f in self._features.items()}

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._features.clear()


def correlation(image, target):
    return sum((a - b).square().mean() for a, b in zip(image.values(), target.values()))


def reconstruct(encoder, config):
    stimulus = torch.rand(config["batch"], 3, config["size"], config["size"], device=device)
    targets = FeatureExtractor(encoder, config["layers"], detach=True)
    wanted = {layer: f.clone() for layer, f in targets.run(stimulus).items()}
    image = torch.rand_like(stimulus).requires_grad_()
    optimizer = torch.optim.Adam([image], lr=0.05)
    current = FeatureExtractor(encoder, config["layers"])
    for _ in range(random.randint(*config["iterations"])):
        optimizer.zero_grad()
        loss = correlation(current.run(image), wanted)
        loss.backward()
        optimizer.step()
        time.sleep(0.03)
    current.remove()
    return image.detach().clamp(0, 1), loss.item()


def main():
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    config = {"batch": 8, "size": 224, "layers": [1, 3, 5], "iterations": (5, 20)}
    end, encoder = time.time() + float(os.environ.get("SECONDS", "40")), make_encoder()
    gallery = []
    while time.time() < end:
        image, loss = reconstruct(encoder, config)
        gallery = (gallery + [image])[-10:]
        log.info("%d in the gallery, loss %.4f", len(gallery), loss)


if __name__ == "__main__":
    main()
