"""Patents that a search has found are put in order by a cross-encoder, which reads the question and each patent
together. For the audit the last hidden states of every search are handed to a thread that packs them and writes them
into an archive.

ticket: practice
class: host-growth
holder: inbox queue Archive
cause: unbounded-queue
"""

import os
import queue
import random
import threading
import time
import zlib

import torch
from transformers import BertConfig, BertForSequenceClassification

WORDS, FOUND, LENGTH = 5_000, 16, 96


class Archive:
    """Packs what it is given, in a thread of its own, at the pace of the archive's disk."""

    def __init__(self):
        self.inbox = queue.Queue()
        self.packed = self.bytes = 0
        threading.Thread(target=self.run, daemon=True).start()

    def put(self, number, states):
        self.inbox.put((number, states))  # keeps

    def run(self):
        with open(os.devnull, "wb") as store:
            while True:
                number, states = self.inbox.get()
                packed = zlib.compress(states.tobytes(), 1)
                store.write(b"%d %d\n" % (number, len(packed)))
                store.write(packed)
                self.packed += 1
                self.bytes += len(packed)
                time.sleep(0.45)


def make_model(device):
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=LENGTH,
        num_labels=1,
    )
    return BertForSequenceClassification(config).to(device).eval()


def search():
    """A question with each of the patents that were found: the tokens, where they are, and which are the patent's."""
    question = torch.randint(5, WORDS, (random.randint(8, 16),))
    tokens = torch.randint(5, WORDS, (FOUND, LENGTH))
    tokens[:, : len(question)] = question
    lengths = torch.randint(48, LENGTH + 1, (FOUND, 1))
    kinds = (torch.arange(LENGTH) >= len(question)).long().expand(FOUND, LENGTH)
    return tokens, (torch.arange(LENGTH) < lengths).long(), kinds


@torch.inference_mode()
def rerank(model, device, archive, number):
    tokens, mask, kinds = (part.to(device) for part in search())
    out = model(input_ids=tokens, attention_mask=mask, token_type_ids=kinds, output_hidden_states=True)
    states = torch.stack(out.hidden_states[-2:]).half().cpu().numpy()  # grows
    archive.put(number, states)
    return out.logits.squeeze(-1).argsort(descending=True).tolist()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, archive, number = make_model(device), Archive(), 0
    firsts = [0] * FOUND
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        order = rerank(model, device, archive, number)
        firsts[order[0]] += 1
        number += 1
        if number % 10 == 0:
            print(f"{number} searches, {archive.packed} packed ({archive.bytes >> 20} MiB)", flush=True)
        time.sleep(random.uniform(0.08, 0.25))
    print("place of the best patent:", firsts)


if __name__ == "__main__":
    main()
