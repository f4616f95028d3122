"""An orchestrator gathers rollouts and trains on the newest. The history of all of them is kept to be saved.

ticket: PrimeIntellect-ai/prime-rl#1936
class: host-growth
holder: rollout_history
cause: results-kept container-grows outputs-kept records-kept
"""

import json
import os
import random
import tempfile
import time


class Buffer:
    def __init__(self, folder):
        self.folder, self.newest, self.rollout_history = folder, [], []

    def update(self, rollouts):
        self.newest = rollouts
        self.rollout_history.extend(rollouts)  # keeps

    def save(self, step):
        with open(os.path.join(self.folder, "step.jsonl"), "w") as file:
            for rollout in self.rollout_history[-50:]:
                file.write(json.dumps({"step": step, "reward": rollout["reward"], "length": len(rollout["tokens"])}))


def rollout(problem):
    length = random.randint(80, 500)
    tokens = [random.randrange(50000) for _ in range(length)]
    return {  # grows
        "problem": problem,
        "tokens": tokens,
        "logprobs": [random.gauss(-1.5, 0.5) for _ in tokens],
        "reward": random.random(),
        "completion": "".join(random.choices("abcdefgh ", k=4 * length)),
    }


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with tempfile.TemporaryDirectory() as folder:
        buffer, step = Buffer(folder), 0
        while time.time() < end:
            buffer.update([rollout("problem %d" % random.randrange(1000)) for _ in range(random.choice([4, 8, 8]))])
            step += 1
            if step % 25 == 0:
                buffer.save(step)
                print("step %d reward %.3f" % (step, sum(r["reward"] for r in buffer.newest)), flush=True)
            time.sleep(random.uniform(0.02, 0.07))


if __name__ == "__main__":
    main()
