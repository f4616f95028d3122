"""Learns to play curling against itself. The player aims its stone at the house with the opponent's stone in the way;
the opponent is drawn from the latest six players of the league, so that it does not learn to beat only itself.
A new player joins the league every few ends.

ticket: practice
class: app-leak
holder: players League
cause: snapshots-kept buffer-without-bound
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

WIDTH, GAMES, ENDS, LATEST = 896, 256, 4, 6


class Dense:
    def __init__(self, features):
        self.features = features

    def init(self, key, inputs):
        scale = (2.0 / inputs) ** 0.5
        return {"kernel": scale * jax.random.normal(key, (inputs, self.features)), "bias": jnp.zeros(self.features)}

    def apply(self, params, x):
        return x @ params["kernel"] + params["bias"]


class Player:
    """Sees the stone in the way and the ice; gives the aim and the weight of the throw."""

    layers = Dense(WIDTH), Dense(WIDTH), Dense(WIDTH), Dense(2)

    def init(self, key, inputs=3):
        params = []
        for layer in self.layers:
            key, own = jax.random.split(key)
            params.append(layer.init(own, inputs))
            inputs = layer.features
        return params

    def apply(self, params, x):
        for layer, own in zip(self.layers[:-1], params):
            x = jax.nn.tanh(layer.apply(own, x))
        return 0.1 * self.layers[-1].apply(params[-1], x)


class League:
    def __init__(self, first):
        self.players = [first]

    def join(self, params):
        self.players.append(params)  # keeps

    def opponent(self):
        return random.choice(self.players[-LATEST:])


player = Player()


def distance(throw, ice, guard, key):
    """How far from the button the stone comes to rest; it is stopped short if it meets the guard."""
    throw = throw + 0.05 * jax.random.normal(key, throw.shape)
    rest = throw + jnp.stack([0.3 * ice, -0.2 * ice], axis=-1)
    bump = jnp.exp(-8 * jnp.square(throw - guard).sum(axis=-1))
    return jnp.sqrt(jnp.square(rest).sum(axis=-1) + 1e-6) + 0.5 * bump


@jax.jit
def play(params, opponent, key):
    """One end in many games at once: the mean margin, and the player after a step of learning."""
    key, sheet, away, home = jax.random.split(key, 4)
    ice = jax.random.normal(sheet, (GAMES,))
    theirs = player.apply(opponent, jnp.stack([jnp.zeros(GAMES), jnp.zeros(GAMES), ice], axis=-1))
    mark = distance(theirs, ice, jnp.full((GAMES, 2), 9.0), away)

    def behind(params):
        ours = player.apply(params, jnp.concatenate([theirs, ice[:, None]], axis=-1))
        return (distance(ours, ice, theirs, home) - mark).mean()

    margin, grads = jax.value_and_grad(behind)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), -margin, key


def main():
    params, key, joined = player.init(jax.random.PRNGKey(3)), jax.random.PRNGKey(8), 1
    league = League(params)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(ENDS):
            params, margin, key = play(params, league.opponent(), key)  # grows
            time.sleep(random.uniform(0.06, 0.14))
        league.join(params)
        joined += 1
        if joined % 5 == 0:
            print(f"player {joined} has joined; it is ahead by {float(margin):+.3f}", flush=True)


if __name__ == "__main__":
    main()
