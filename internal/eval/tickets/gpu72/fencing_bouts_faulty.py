"""Two fencers meet again and again: one learns by policy gradient, the other is one of the learner's eight latest
former selves. After every few bouts the learner's parameters join the club from which the opponents are drawn.

ticket: practice
class: app-leak
holder: club
cause: snapshots-kept buffer-without-bound
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

STANCE, HIDDEN, MOVES, BOUTS = 48, 512, 6, 256
RECENT, JOIN_EVERY, RATE = 8, 4, 0.05

# Which move beats which: each one is good against the next two and bad against the two before it.
GAP = (jnp.arange(MOVES)[None, :] - jnp.arange(MOVES)[:, None]) % MOVES
TOUCHES = jnp.where((GAP == 1) | (GAP == 2), 1.0, jnp.where((GAP == 4) | (GAP == 5), -1.0, 0.0))


def new_fencer(key):
    sizes = (STANCE, HIDDEN, HIDDEN, HIDDEN, MOVES)
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"weight": jax.random.normal(k, (rows, columns)) * (2.0 / rows) ** 0.5, "bias": jnp.zeros(columns)}
        for k, rows, columns in zip(keys, sizes[:-1], sizes[1:])
    ]


def logits(fencer, stances):
    hidden = stances
    for layer in fencer[:-1]:
        hidden = jax.nn.relu(hidden @ layer["weight"] + layer["bias"])
    return hidden @ fencer[-1]["weight"] + fencer[-1]["bias"]


def surrogate(fencer, stances, moves, advantages):
    """The policy gradient's loss, with a little entropy so that the fencer stays unpredictable."""
    log_probs = jax.nn.log_softmax(logits(fencer, stances))
    chosen = jnp.take_along_axis(log_probs, moves[:, None], axis=1)[:, 0]
    entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=1).mean()
    return -(chosen * advantages).mean() - 0.01 * entropy


@jax.jit
def train(learner, opponent, key):
    """One set of bouts against the opponent; returns the better learner and its mean of touches."""
    stance_key, own_key, other_key = jax.random.split(key, 3)
    stances = jax.random.normal(stance_key, (BOUTS, STANCE))
    moves = jax.random.categorical(own_key, logits(learner, stances))
    answers = jax.random.categorical(other_key, logits(opponent, -stances))
    touches = TOUCHES[moves, answers]
    gradients = jax.grad(surrogate)(learner, stances, moves, touches - touches.mean())
    learner = jax.tree_util.tree_map(lambda value, slope: value - RATE * slope, learner, gradients)
    return learner, touches.mean()


def main():
    key = jax.random.PRNGKey(int(time.time()))
    key, first = jax.random.split(key)
    learner = new_fencer(first)
    club, sets = [learner], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, bout_key = jax.random.split(key)
        opponent = random.choice(club[-RECENT:])
        learner, touches = train(learner, opponent, bout_key)  # grows
        sets += 1
        if sets % JOIN_EVERY == 0:
            club.append(learner)  # keeps
        if sets % 25 == 0:
            print(f"set {sets}: {float(touches):+.3f} touches a bout", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
