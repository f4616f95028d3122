"""Winches in the fly tower of a theatre.

Sixty-four winches move the scenery on their ropes. A simulation of drums and ropes gives eight readings of every
winch at each sample; the readings are packed into frames with a header and go through an outbox to the console
of the stage manager, which takes them in chunks of a fixed size and shows the rope under the most load.

ticket: practice
class: none
"""
import os
import struct
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WINCHES, READINGS, SAMPLES = 64, 8, 256
DT = 1.0 / 3000.0
FRAMES_A_SECOND = 12
CHUNK = 64 * 1024
COMPACT = 4 * 1024 * 1024
HEADER = struct.Struct("<4sIIf")


def forces(position, speed, target):
    stretch = target - position
    rope = 900.0 * stretch + 45.0 * (0.0 - speed)
    friction = 6.0 * jnp.tanh(speed * 40.0)
    return rope, friction


@jax.jit
def swing(state, key, target):
    """One frame of samples for all winches: the new state, and the readings by sample."""
    shakes = 0.4 * jax.random.normal(key, (SAMPLES, WINCHES))

    def sample(carry, shake):
        position, speed, heat = carry
        rope, friction = forces(position, speed, target)
        speed = speed + DT * (rope - friction + 30.0 * shake)
        position = position + DT * speed
        heat = 0.9995 * heat + DT * jnp.abs(friction * speed)
        power = rope * speed
        readings = jnp.stack([position, speed, rope, friction, heat, power, shake, target - position], axis=1)
        return (position, speed, heat), readings

    return jax.lax.scan(sample, state, shakes)


class Link:
    """The line to the console: frames go in whole, chunks come out."""

    def __init__(self):
        self.outbox = bytearray()
        self.cursor = 0
        self.sent = 0

    def put(self, number, readings):
        body = readings.tobytes()
        self.outbox += HEADER.pack(b"WNCH", number, len(body), float(np.abs(readings[..., 2]).max()))
        self.outbox += body

    def take(self):
        """The next chunk, or nothing if all has been sent."""
        chunk = bytes(self.outbox[self.cursor:self.cursor + CHUNK])
        self.cursor += len(chunk)
        self.sent += len(chunk)
        if self.cursor >= COMPACT:
            del self.outbox[:self.cursor]
            self.cursor = 0
        return chunk


class Console:
    """Puts the chunks together again and looks at each complete frame."""

    def __init__(self):
        self.pending = bytearray()
        self.frames = 0
        self.view = (0, 0.0)

    def feed(self, chunk):
        self.pending += chunk
        while len(self.pending) >= HEADER.size:
            magic, number, length, peak = HEADER.unpack_from(self.pending)
            if magic != b"WNCH":
                raise ValueError("the line is out of step")
            if len(self.pending) < HEADER.size + length:
                break
            body = bytes(self.pending[HEADER.size:HEADER.size + length])
            del self.pending[:HEADER.size + length]
            self.show(number, np.frombuffer(body, dtype=np.float32).reshape(SAMPLES, WINCHES, READINGS), peak)

    def show(self, number, readings, peak):
        load = np.abs(readings[..., 2]).mean(axis=0)
        self.view = (int(load.argmax()), peak)
        self.frames += 1


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    key = jax.random.PRNGKey(64)
    rest = jnp.zeros(WINCHES)
    state = (rest, rest, rest)
    link, console = Link(), Console()
    number = 0
    while time.time() < end:
        due = time.time() + 1.0 / FRAMES_A_SECOND
        key, inner = jax.random.split(key)
        # The scenery goes up and down in a slow wave across the bars.
        target = 3.0 + 2.0 * jnp.sin(0.05 * number + jnp.arange(WINCHES) / 9.0)
        state, readings = swing(state, inner, target)
        link.put(number, np.asarray(readings, dtype=np.float32))
        while chunk := link.take():
            console.feed(chunk)
        number += 1
        if number % 40 == 0:
            winch, peak = console.view
            print(f"frame {number}: {console.frames} shown, {link.sent >> 20} MiB sent, "
                  f"winch {winch} bears most, peak {peak:.0f} N", flush=True)
        time.sleep(max(0.0, due - time.time()))


if __name__ == "__main__":
    main()
