"""Computes what a GGUF file of the Llama family says next: numpy only, in float64.

Usage: reference.py FILE TOKENS COUNT   (tokens separated by commas)
Prints JSON: the logits after TOKENS, and COUNT tokens chosen greedily from there.
"""
import json
import struct
import sys

import numpy as np

SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        (v,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return v

    def text(self):
        n = self.take("<Q")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, n = self.take("<I"), self.take("<Q")
            return [self.value(inner) for _ in range(n)]
        return self.take(SCALARS[kind])


def bits(byte, shift, mask):
    return (byte >> shift & mask).astype(np.float64)


def half(b, at):
    return b[:, at:at + 2].copy().view("<f2").astype(np.float64)


def f32(b):
    return b.view("<f4").astype(np.float64)


def f16(b):
    return b.view("<f2").astype(np.float64)


def bf16(b):
    return (b.view("<u2").astype("<u4") << 16).view("<f4").astype(np.float64)


def nibbles(q):
    """Low nibbles of all bytes, then the high ones."""
    return np.hstack([bits(q, 0, 15), bits(q, 4, 15)])


def fifth(b, at):
    """32 bits of four bytes, as 0 or 16."""
    word = b[:, at:at + 4].copy().view("<u4")
    return 16 * bits(word, np.arange(32, dtype=np.uint32)[None, :], 1)


def q4_0(b):
    return half(b, 0) * (nibbles(b[:, 2:]) - 8)


def q4_1(b):
    return half(b, 0) * nibbles(b[:, 4:]) + half(b, 2)


def q5_0(b):
    return half(b, 0) * (nibbles(b[:, 6:]) + fifth(b, 2) - 16)


def q5_1(b):
    return half(b, 0) * (nibbles(b[:, 8:]) + fifth(b, 4)) + half(b, 2)


def q8_0(b):
    return half(b, 0) * b[:, 2:].view(np.int8)


def pairs(q):
    """256 pairs of bits of 64 bytes: four shifts of the first 32, then of the others."""
    return np.hstack([bits(q[:, 32 * p:32 * p + 32], 2 * g, 3) for p in range(2) for g in range(4)])


def spread(scales, each):
    return np.repeat(scales, each, axis=1)


def q2_k(b):
    s = b[:, :16]
    return half(b, 80) * spread(bits(s, 0, 15), 16) * pairs(b[:, 16:80]) - half(b, 82) * spread(bits(s, 4, 15), 16)


def q3_k(b):
    high = np.hstack([bits(b[:, :32], n, 1) for n in range(8)])
    s = b[:, 96:108]
    low = np.hstack([bits(s[:, :8], 0, 15), bits(s[:, :8], 4, 15)])
    up = np.hstack([bits(s[:, 8:], 2 * n, 3) for n in range(4)])
    return half(b, 108) * spread(low + 16 * up - 32, 16) * (pairs(b[:, 32:96]) + 4 * high - 4)


def six(s):
    """Eight scales and eight minima of six bits in 12 bytes."""
    a, m, last = s[:, :4], s[:, 4:8], s[:, 8:]
    scale = np.hstack([bits(a, 0, 63), bits(last, 0, 15) + 16 * bits(a, 6, 3)])
    minimum = np.hstack([bits(m, 0, 63), bits(last, 4, 15) + 16 * bits(m, 6, 3)])
    return spread(scale, 32), spread(minimum, 32)


def grouped(q):
    """256 nibbles of 128 bytes: each 32 bytes their low ones, then their high ones."""
    return np.hstack([bits(q[:, 32 * n:32 * n + 32], s, 15) for n in range(4) for s in (0, 4)])


def q4_k(b):
    scale, minimum = six(b[:, 4:16])
    return half(b, 0) * scale * grouped(b[:, 16:]) - half(b, 2) * minimum


def q5_k(b):
    scale, minimum = six(b[:, 4:16])
    high = np.hstack([bits(b[:, 16:48], n, 1) for n in range(8)])
    return half(b, 0) * scale * (grouped(b[:, 48:]) + 16 * high) - half(b, 2) * minimum


def q6_k(b):
    low = np.hstack([bits(b[:, 64 * p + 32 * (g & 1):64 * p + 32 * (g & 1) + 32], 4 * (g >> 1), 15)
                     for p in range(2) for g in range(4)])
    high = pairs(b[:, 128:192])
    return half(b, 208) * spread(b[:, 192:208].view(np.int8).astype(np.float64), 16) * (low + 16 * high - 32)


LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64)


def iq4_nl(b):
    return half(b, 0) * LEVELS[nibbles(b[:, 2:]).astype(int)]


def iq4_xs(b):
    low = np.hstack([bits(b[:, 4 + n // 2:5 + n // 2], 4 * (n % 2), 15) for n in range(8)])
    high = np.hstack([bits(b[:, 2 + n // 4:3 + n // 4], 2 * (n % 4), 3) for n in range(8)])
    q = np.hstack([nibbles(b[:, 8 + 16 * n:24 + 16 * n]) for n in range(8)]).astype(int)
    return half(b, 0) * spread(low + 16 * high - 32, 32) * LEVELS[q]


# Type: values of a block, bytes of a block, decoder.
TYPES = {
    0: (1, 4, f32), 1: (1, 2, f16), 2: (32, 18, q4_0), 3: (32, 20, q4_1), 6: (32, 22, q5_0), 7: (32, 24, q5_1),
    8: (32, 34, q8_0), 10: (256, 84, q2_k), 11: (256, 110, q3_k), 12: (256, 144, q4_k), 13: (256, 176, q5_k),
    14: (256, 210, q6_k), 20: (32, 18, iq4_nl), 23: (256, 136, iq4_xs), 30: (1, 2, bf16),
}


def load(path):
    with open(path, "rb") as f:
        r = Reader(f.read())
    assert r.take("<4s") == b"GGUF" and r.take("<I") == 3
    tensors, entries = r.take("<Q"), r.take("<Q")
    meta = {}
    for _ in range(entries):
        key = r.text()
        meta[key] = r.value(r.take("<I"))
    infos = []
    for _ in range(tensors):
        name = r.text()
        dims = [r.take("<Q") for _ in range(r.take("<I"))]
        infos.append((name, dims, r.take("<I"), r.take("<Q")))
    align = meta.get("general.alignment", 32)
    start = -(-r.at // align) * align
    weights = {}
    for name, dims, kind, offset in infos:
        values, size, decode = TYPES[kind]
        count = int(np.prod(dims))
        raw = np.frombuffer(r.data, np.uint8, count // values * size, start + offset).reshape(-1, size)
        weights[name] = decode(raw).reshape(dims[::-1])
    return meta, weights


def norm(x, w, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def rope(x, base, factors):
    """Turns neighbours of x (position, head, value)."""
    positions, _, size = x.shape
    angles = np.arange(positions)[:, None] * base ** (-np.arange(0, size, 2) / size)[None, :] / factors
    turn = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)[:, None, :]
    return np.stack([turn.real, turn.imag], -1).reshape(x.shape)


def logits(meta, w, tokens):
    """All tokens at once, without a cache."""
    heads = meta["llama.attention.head_count"]
    shared = meta.get("llama.attention.head_count_kv", heads)
    eps, base = meta["llama.attention.layer_norm_rms_epsilon"], meta["llama.rope.freq_base"]
    factors = w.get("rope_freqs.weight", np.ones(1)) * meta.get("llama.rope.scaling.factor", 1.0)
    x = w["token_embd.weight"][tokens]
    n, width = x.shape
    size = width // heads
    mask = np.triu(np.full((n, n), -np.inf), 1)
    for b in range(meta["llama.block_count"]):
        at = lambda name: w[f"blk.{b}.{name}.weight"]
        h = norm(x, at("attn_norm"), eps)
        q = rope((h @ at("attn_q").T).reshape(n, heads, size), base, factors)
        k = rope((h @ at("attn_k").T).reshape(n, shared, size), base, factors)
        v = (h @ at("attn_v").T).reshape(n, shared, size)
        k, v = (np.repeat(t, heads // shared, axis=1) for t in (k, v))
        s = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(size) + mask
        s = np.exp(s - s.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", s, v).reshape(n, width) @ at("attn_output").T
        h = norm(x, at("ffn_norm"), eps)
        gate = h @ at("ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ at("ffn_up").T)) @ at("ffn_down").T
    return norm(x[-1], w["output_norm.weight"], eps) @ w.get("output.weight", w["token_embd.weight"]).T


def main():
    meta, weights = load(sys.argv[1])
    tokens = [int(t) for t in sys.argv[2].split(",")]
    first, chosen = logits(meta, weights, tokens), []
    after = first
    for _ in range(int(sys.argv[3])):
        chosen.append(int(after.argmax()))
        after = logits(meta, weights, tokens + chosen)
    json.dump({"logits": first.tolist(), "tokens": chosen}, sys.stdout)


main()
