"""Two child processes read documents, drop those that they have seen, and send numbers of words to the parent, where a
model on the device embeds them. What a child has seen lately it knows by the text of the last 800.

ticket: practice
class: none
"""

import collections
import multiprocessing
import os
import queue
import random
import time
import zlib

WORDS = [f"{a}{b}{c}" for a in ("re", "un", "in", "be") for b in ("gar", "ton", "mil", "ver") for c in ("d", "ing")]


def documents(number):
    """Texts without an end, some of which come again."""
    source, last = random.Random(number), []
    while True:
        if last and source.random() < 0.1:
            yield source.choice(last)
            continue
        text = " ".join(source.choices(WORDS, k=source.randint(600, 2500)))
        last = [*last[-20:], text]
        yield text


class Reader:
    """Gives the numbers of the words of each new document."""

    def __init__(self):
        self.seen = collections.OrderedDict()

    def read(self, text):
        cleaned = " ".join(text.lower().split())
        if cleaned in self.seen:
            self.seen[cleaned] += 1
            return None
        self.seen[cleaned] = 1
        if len(self.seen) > 800:
            self.seen.popitem(last=False)
        return [zlib.crc32(word.encode()) % 4096 for word in cleaned.split()[:256]]


def read_documents(number, out, stop):
    reader = Reader()
    for text in documents(number):
        if stop.is_set():
            break
        numbers = reader.read(text)
        while numbers and not stop.is_set():
            try:
                out.put(numbers, timeout=0.5)
                break
            except queue.Full:
                pass
        time.sleep(0.006)
    out.cancel_join_thread()


def main():
    import torch

    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    context = multiprocessing.get_context("spawn")
    lines, stop = context.Queue(maxsize=64), context.Event()
    children = [context.Process(target=read_documents, args=(n, lines, stop), daemon=True) for n in range(2)]
    for child in children:
        child.start()
    words = torch.nn.EmbeddingBag(4096, 256, device=device)
    head = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 128)).to(device)
    batch, done = [], 0
    while time.time() < end:
        try:
            batch.append(lines.get(timeout=0.5))
        except queue.Empty:
            continue
        if len(batch) == 32:
            offsets = torch.tensor([0] + [len(b) for b in batch[:-1]]).cumsum(0)
            with torch.inference_mode():
                vectors = head(words(torch.tensor(sum(batch, [])).to(device), offsets.to(device)))
            done += len(batch)
            batch = []
            if done % 1600 == 0:
                print(done, "documents", round(float(vectors.std()), 4), flush=True)
    stop.set()
    for child in children:
        child.join(5)


if __name__ == "__main__":
    main()
