"""Harbour pilots: urgency of the bulletins that reach the pilot launch.

Berths, lights, dredgers and tows are announced in short bulletins. A small encoder reads a packet of them at
a time and a linear head gives each a mark of urgency, for the order in which the coxswain hears them. How far
the tokens of a packet spread in the last layer tells the office whether a packet was garbled on the air.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn
from transformers import BertConfig, BertModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PACKETS_A_SECOND = 8
BULLETINS = 8
TOKENS = 64
WORDS = 2000
WIDTH = 256
AIRWAVE_PACKETS = 256


def make_encoder():
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=128,
    )
    return BertModel(config, add_pooling_layer=False).to(DEVICE).eval()


class Spread:
    """How far the tokens of one packet lie apart where the last layer mixes them."""

    def __init__(self, packet_number):
        self.packet_number = packet_number
        self.states = None

    def __call__(self, module, arguments, output):
        if self.states is None:
            self.states = output.detach().clone()

    def value(self):
        return float(self.states.std(dim=1).mean())


class Airwaves:
    """Packets of bulletins as token numbers."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        packets = torch.randint(5, WORDS, (AIRWAVE_PACKETS, BULLETINS, TOKENS), generator=generator)
        packets[::16, :, TOKENS // 2:] = 3
        self.packets = packets.to(DEVICE)

    def packet(self, number):
        return self.packets[number % AIRWAVE_PACKETS]


class BulletinReader:
    """Reads packets and sorts the bulletins by urgency."""

    def __init__(self, encoder, head):
        self.encoder = encoder
        self.head = head
        self.mixing = encoder.encoder.layer[-1].output.dense
        self.read = 0
        self.garbled = 0
        self.usual_spread = None

    @torch.no_grad()
    def urgency(self, tokens):
        hidden = self.encoder(input_ids=tokens).last_hidden_state
        return self.head(hidden[:, 0]).squeeze(-1)

    def read_packet(self, tokens):
        spread = Spread(self.read)
        handle = self.mixing.register_forward_hook(spread)
        marks = self.urgency(tokens)
        handle.remove()
        self.judge(spread.value())
        self.read += 1
        return marks.argsort(descending=True).tolist()

    def judge(self, spread):
        if self.usual_spread is None:
            self.usual_spread = spread
        if spread < 0.8 * self.usual_spread:
            self.garbled += 1
        self.usual_spread = 0.98 * self.usual_spread + 0.02 * spread


def main():
    torch.set_num_threads(1)
    torch.manual_seed(40)
    encoder = make_encoder()
    head = nn.Linear(WIDTH, 1).to(DEVICE)
    reader = BulletinReader(encoder, head)
    airwaves = Airwaves(41)
    start = time.monotonic()
    due, next_print = start, start + 2.0
    while time.monotonic() - start < SECONDS:
        order = reader.read_packet(airwaves.packet(reader.read))
        if time.monotonic() >= next_print:
            next_print += 2.0
            print(f"packet {reader.read}: first bulletin {order[0]}, usual spread {reader.usual_spread:.4f}, "
                  f"{reader.garbled} garbled", flush=True)
        due += 1.0 / PACKETS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"launch moored after {reader.read} packets", flush=True)


if __name__ == "__main__":
    main()
