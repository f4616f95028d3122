"""A cooking site re-ranks the recipes that its search finds. Each question is answered in a task of its own, which
scores the candidates on the accelerator; the asker then takes the best, but not two that are nearly the same. The
server holds the tasks that run, for the event loop by itself holds them only weakly.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WORDS, WIDTH, LENGTH = 8000, 512, 24
CANDIDATES = 256, 512
TAKEN, ASKERS = 5, 3


def weights(key):
    words, mix, out = jax.random.split(key, 3)
    return {
        "words": jax.random.normal(words, (WORDS, WIDTH)),
        "mix": jax.random.normal(mix, (2 * WIDTH, WIDTH)) / (2 * WIDTH) ** 0.5,
        "out": jax.random.normal(out, (WIDTH,)) / WIDTH ** 0.5,
    }


@jax.jit
def rank(params, question, recipes):
    """The scores of the recipes for a question, and a vector for each."""
    asked = params["words"][question].mean(axis=0)
    found = params["words"][recipes].mean(axis=1)
    both = jnp.concatenate([found, jnp.broadcast_to(asked, found.shape)], axis=1)
    vectors = jax.nn.gelu(both @ params["mix"])
    vectors = vectors / (jnp.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6)
    return vectors @ params["out"], vectors


@jax.jit
def choose(scores, vectors):
    """The best recipes, each of which is unlike those taken before."""
    taken = []
    for _ in range(TAKEN):
        best = jnp.argmax(scores)
        taken.append(best)
        scores = jnp.where(vectors @ vectors[best] > 0.9, -jnp.inf, scores).at[best].set(-jnp.inf)
    return jnp.stack(taken)


class Server:
    def __init__(self):
        self.params = weights(jax.random.key(7))
        self.tasks = set()
        self.answered = 0

    def ask(self, question, recipes):
        task = asyncio.create_task(self.answer(question, recipes))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def answer(self, question, recipes):
        await asyncio.sleep(random.uniform(0.01, 0.05))
        scores, vectors = rank(self.params, question, recipes)
        self.answered += 1
        return scores, vectors


async def asker(server, name, end):
    rng = np.random.default_rng(name)
    while time.time() < end:
        question = rng.integers(WORDS, size=LENGTH)
        recipes = rng.integers(WORDS, size=(random.choice(CANDIDATES), LENGTH))
        scores, vectors = await server.ask(question, recipes)
        taken = np.asarray(choose(scores, vectors))
        if server.answered % 40 == 0:
            print(f"{server.answered} questions, asker {name} takes {taken.tolist()}", flush=True)
        await asyncio.sleep(random.uniform(0.1, 0.4))


async def serve():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    server = Server()
    await asyncio.gather(*(asker(server, name, end) for name in range(ASKERS)))
    print("in all", server.answered, "questions", flush=True)


if __name__ == "__main__":
    asyncio.run(serve())
