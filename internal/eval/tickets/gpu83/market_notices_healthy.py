"""A town's board for small ads is moderated: a classifier looks at the notices, and each verdict is delivered to the
board's office, with the hidden states as evidence. The office is often busy; after three attempts a verdict becomes a
dead letter, and a thread at the side looks at the dead letters, one after the other, and writes a report; those
for which there is no room are only counted.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time
from dataclasses import dataclass

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

WORDS, LENGTH, BATCH = 8000, 96, 16
ATTEMPTS, BUSY = 3, 0.6
LABELS = "fine", "fraud", "rude"


@dataclass
class Verdict:
    notice: int
    label: str
    evidence: np.ndarray
    attempts: int = 0


class Office:
    def __init__(self):
        self.dead = queue.Queue(maxsize=16)
        self.delivered = self.reported = self.dropped = 0

    def deliver(self, verdict):
        """Tries to hand a verdict over; says whether it has to be tried again."""
        if random.random() > BUSY:
            self.delivered += 1
            return False
        verdict.attempts += 1
        if verdict.attempts < ATTEMPTS:
            return True
        try:
            self.dead.put_nowait(verdict)
        except queue.Full:
            self.dropped += 1
        return False

    def look(self, end):
        """The thread's work: a report for each dead letter."""
        while time.time() < end:
            try:
                verdict = self.dead.get(timeout=0.5)
            except queue.Empty:
                continue
            strength = np.linalg.norm(verdict.evidence, axis=-1).mean(axis=-1)
            self.reported += 1
            if self.reported % 10 == 0:
                print(f"notice {verdict.notice} ({verdict.label}): {np.round(strength, 1)}", flush=True)
            time.sleep(0.4)


@torch.inference_mode()
def judge(model, first, device):
    tokens = torch.randint(WORDS, (BATCH, LENGTH), device=device)
    out = model(input_ids=tokens, attention_mask=torch.ones_like(tokens), output_hidden_states=True)
    labels = out.logits.argmax(dim=-1).tolist()
    states = torch.stack(out.hidden_states, dim=1)
    verdicts = []
    for number, label in enumerate(labels):
        evidence = np.array(states[number].cpu().numpy())
        verdicts.append(Verdict(first + number, LABELS[label], evidence))
    return verdicts


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = BertConfig(vocab_size=WORDS, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                        intermediate_size=512, max_position_embeddings=128, num_labels=len(LABELS))
    model, office = BertForSequenceClassification(config).to(device).eval(), Office()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    helper = threading.Thread(target=office.look, args=(end,), daemon=True)
    helper.start()
    judged, again = 0, []
    while time.time() < end:
        verdicts = again + judge(model, judged, device)
        judged += BATCH
        again = [verdict for verdict in verdicts if office.deliver(verdict)]
        if judged % (20 * BATCH) == 0:
            counts = f"{office.delivered} delivered, {office.reported} reported, {office.dropped} dropped"
            print(f"{judged} judged, {counts}", flush=True)
        time.sleep(random.uniform(0.15, 0.35))
    helper.join()


if __name__ == "__main__":
    main()
