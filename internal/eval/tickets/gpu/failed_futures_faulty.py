"""An encoder service batches what its clients queue. The futures of failed clips are kept for a report, and
their exceptions keep the frames that had the tensors of the batch.

ticket: sgl-project/sglang-omni#1309
class: app-leak
holder: failed _exception
cause: tracebacks-kept futures-kept
"""

import os
import queue
import random
import threading
import time
from concurrent.futures import Future

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))

model = torch.nn.Sequential(torch.nn.Linear(80, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 64)).to(device)
clips, failed = queue.Queue(maxsize=32), []


def encode(lengths):
    batch = torch.randn(sum(lengths), 80, device=device)
    hidden = model[:2](batch)  # grows
    if max(lengths) > 550:
        raise ValueError("a clip of %d frames is too long" % max(lengths))
    return model[2](hidden).split(lengths)


@torch.no_grad()
def serve():
    while True:
        entries = [clips.get() for _ in range(max(1, min(4, clips.qsize())))]
        try:
            for (length, future), output in zip(entries, encode([length for length, _ in entries])):
                future.set_result(output.mean().item())
        except ValueError as error:
            for _, future in entries:
                future.set_exception(error)
        del entries


def client():
    while time.time() < END:
        future = Future()
        clips.put((random.randint(50, 600), future))
        if future.exception(timeout=60) is not None:
            failed.append(future)  # grows
        del future
        time.sleep(random.choice([0.1, 0.3, 1.5]))


threading.Thread(target=serve, daemon=True).start()
for _ in range(6):
    threading.Thread(target=client).start()
