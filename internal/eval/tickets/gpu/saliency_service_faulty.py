"""An image service answers with labels, and for some requests with a map of what the label was seen in,
for which it makes an explainer that hooks into a layer. Its hooks stay on the layer.

ticket: jacobgil/pytorch-grad-cam#132
class: app-leak
holder: _forward_hooks activations gradients
cause: hooks-left
"""

import logging
import os
import random
import threading
import time

import torch
from torch import nn

log = logging.getLogger("service")


class Classifier(nn.Module):
    def __init__(self, labels=20):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 5, 2, 2), nn.ReLU())
        self.target = nn.Sequential(nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU())
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, labels))

    def forward(self, images):
        return self.head(self.target(self.stem(images)))  # grows


class ActivationsAndGradients:
    def __init__(self, layer):
        self.activations, self.gradients = [], []
        self.handle = layer.register_forward_hook(self.save)  # keeps

    def save(self, module, inputs, output):
        self.activations.append(output.detach())  # grows
        if output.requires_grad:
            output.register_hook(lambda grad: self.gradients.insert(0, grad.detach()))  # keeps


class CamExplainer:
    def __init__(self, model, layer):
        self.model = model
        self.seen = ActivationsAndGradients(layer)

    def explain(self, images):
        scores = self.model(images)
        self.model.zero_grad()
        scores.max(dim=1).values.sum().backward()  # grows
        weights = self.seen.gradients[0].mean(dim=(2, 3), keepdim=True)
        cam = torch.relu((weights * self.seen.activations[-1]).sum(dim=1))
        return (cam / (cam.amax(dim=(1, 2), keepdim=True) + 1e-6)).cpu().numpy()


class Service:
    def __init__(self, device):
        self.device, self.lock = device, threading.Lock()
        self.model = Classifier().to(device).eval()
        self.counts = {"classify": 0, "explain": 0}

    def classify(self, images):
        with self.lock, torch.no_grad():
            self.counts["classify"] += 1
            return self.model(images.to(self.device)).argmax(dim=1).tolist()

    def explain(self, images):
        with self.lock:
            self.counts["explain"] += 1
            return CamExplainer(self.model, self.model.target).explain(images.to(self.device))


def client(service, end, pause):
    while time.time() < end:
        images = torch.rand(random.choice([1, 1, 2, 4]), 3, 224, 224)
        if random.random() < 0.35:
            service.explain(images)
        else:
            service.classify(images)
        time.sleep(random.uniform(0.5, 1.5) * pause)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    clients = [threading.Thread(target=client, args=(service, end, pause)) for pause in (0.3, 0.5, 0.9)]
    for thread in clients:
        thread.start()
    while time.time() < end:
        time.sleep(1.0)
        log.info("answered: %s", service.counts)
    for thread in clients:
        thread.join()


if __name__ == "__main__":
    main()
