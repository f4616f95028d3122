"""Backfill of embeddings for the ledgers of a grain cooperative. Lines are read in chunks (already tokenised upstream),
embedded token by token with a small BERT, and written as compressed partitions by a thread pool. Before the manifest is
closed the job waits for all writes. A report on the throughput goes to stdout.

ticket: practice
class: host-growth
holder: Backfill writes Future futures
cause: futures-kept results-kept
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import tempfile
import time
import zlib

import numpy as np
import torch
from transformers import BertConfig, BertModel

VOCABULARY = 4_000


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunk-lines", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=16)
    return parser.parse_args()


def read_chunks(args, rng):
    """Yields (partition, tokens) without end. Grain names repeat a lot, so low ids are the most frequent."""
    while True:
        tokens = np.minimum(rng.zipf(1.3, size=(args.chunk_lines, args.tokens)), VOCABULARY - 1)
        yield int(rng.integers(args.partitions)), torch.from_numpy(tokens.astype(np.int64))
        time.sleep(float(rng.exponential(0.06)))


class Backfill:
    def __init__(self, args, folder):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        config = BertConfig(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                            intermediate_size=128, max_position_embeddings=64)
        self.model = BertModel(config, add_pooling_layer=False).to(self.device).eval()
        self.folder = pathlib.Path(folder)
        self.executor = concurrent.futures.ThreadPoolExecutor(args.writers, thread_name_prefix="writer")
        self.writes = []
        self.lines = 0

    @torch.inference_mode()
    def embed(self, tokens):
        hidden = self.model(input_ids=tokens.to(self.device)).last_hidden_state
        return hidden.float().cpu().numpy()  # grows

    def write(self, partition, vectors):
        """Replaces the partition's file. Returns what the manifest needs, and the vectors for the checks."""
        payload = zlib.compress(vectors.astype(np.float16)[::8].tobytes(), level=1)
        path = self.folder / f"partition={partition:02d}.bin"
        part = path.with_suffix(f".{time.monotonic_ns()}.tmp")
        part.write_bytes(payload)
        part.replace(path)
        return {"path": path.name, "md5": hashlib.md5(payload).hexdigest(), "vectors": vectors}

    def check(self, future):
        record = future.result()
        if not np.isfinite(record["vectors"]).all():
            raise ValueError(f"{record['path']} holds values that are not finite")

    def submit(self, partition, tokens):
        vectors = self.embed(tokens)
        future = self.executor.submit(self.write, partition, vectors)
        future.add_done_callback(self.check)
        self.writes.append(future)  # keeps
        self.lines += len(tokens)

    def close(self):
        done, _ = concurrent.futures.wait(self.writes)
        self.executor.shutdown()
        return len(done)


def main():
    args = parse_args()
    torch.set_num_threads(1)
    start = time.time()
    end = start + float(os.environ.get("SECONDS", "45"))
    with tempfile.TemporaryDirectory() as folder:
        job = Backfill(args, folder)
        for number, (partition, tokens) in enumerate(read_chunks(args, np.random.default_rng(11)), start=1):
            job.submit(partition, tokens)
            if number % 50 == 0:
                print(f"{job.lines:,} lines, {job.lines / (time.time() - start):,.0f} lines/s", flush=True)
            if time.time() > end:
                break
        print("waited for", job.close(), "writes", flush=True)


if __name__ == "__main__":
    main()
