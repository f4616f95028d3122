"""Belief propagation over images. The evidence of an image at one of six noise levels is put on the
device once and cached; the sixteen used last are kept.

ticket: vicariousinc/PGMax#97
class: none
"""

import collections
import os
import random
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))
draw = np.random.default_rng(5)


@jax.jit
def beliefs(evidence, couplings):
    messages = jnp.zeros_like(evidence)
    for _ in range(4):
        spread = (jnp.roll(messages, 1, 1) + jnp.roll(messages, -1, 1)) / 2
        messages = jax.nn.log_softmax(evidence + jnp.einsum("st,txy->sxy", couplings, spread), axis=0)
    return messages.argmax(0)


class Graph:
    def __init__(self):
        self.couplings = jnp.eye(24) * 0.5
        self.evidence = collections.OrderedDict()

    def evidence_of(self, image, noise):
        key = (image, noise)
        if key not in self.evidence:
            table = draw.random((24, 128, 128), dtype="float32") * noise
            self.evidence[key] = jax.device_put(table)
        self.evidence.move_to_end(key)
        while len(self.evidence) > 16:
            self.evidence.popitem(last=False)
        return self.evidence[key]

    def infer(self, image):
        return beliefs(self.evidence_of(image, random.randint(1, 6) / 20), self.couplings)


graph = Graph()
labels = collections.Counter()
done = 0
while time.time() < END:
    for _ in range(random.randint(1, 5)):
        labels[int(graph.infer(random.randrange(40))[0, 0])] += 1
        done += 1
        time.sleep(0.1)
    if done % 40 < 3:
        print("images", done, labels.most_common(2), flush=True)
    time.sleep(random.uniform(0.3, 1.4))
