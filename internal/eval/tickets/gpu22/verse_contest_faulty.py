"""A contest: who sends in the adapter (LoRA) with which a small language model writes the best verse? The base model
stands ready on the GPU all the time; an entry is a folder of a few megabytes that is loaded quickly, judged on some
verses, and entered into the table; then the next one is loaded.

ticket: huggingface/peft#738
class: app-leak
holder: lora_A lora_B _modules ModuleDict judged
cause: modules-made-at-run-time cache-without-bound results-kept buffer-without-bound
"""

import os
import random
import tempfile
import time
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, WIDTH, LAYERS, RANK = 512, 256, 4, 128
LENGTHS = (24, 32, 48)


def base_model(device):
    torch.manual_seed(11)
    config = GPT2Config(vocab_size=WORDS, n_positions=64, n_embd=WIDTH, n_layer=LAYERS, n_head=4, bos_token_id=0,
                        eos_token_id=0)
    return GPT2LMHeadModel(config).to(device).eval()


def send_in(folder, names):
    """The entries, as their authors would have sent them."""
    for name in names:
        config = LoraConfig(r=RANK, lora_alpha=RANK, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True,
                            init_lora_weights=False, task_type="CAUSAL_LM")
        get_peft_model(base_model("cpu"), config).save_pretrained(folder / name)


class Jury:
    """Loads entries onto the base model and judges them."""

    def __init__(self, folder, first, device):
        self.folder, self.device = folder, device
        self.judged = PeftModel.from_pretrained(base_model(device), folder / first, adapter_name="first").eval()
        self.table = {}

    def verses(self):
        """Verses whose words rhyme, in a way."""
        words = torch.randint(1, WORDS, (8, random.choice(LENGTHS)), device=self.device)
        words[:, 7::8] = words[:, 3::8][:, :words[:, 7::8].shape[1]]
        return words

    @torch.no_grad()
    def judge(self, name, number, rounds=3):
        entry = f"{name}-{number}"
        self.judged.load_adapter(self.folder / name, adapter_name=entry)  # grows keeps
        self.judged.set_adapter(entry)
        losses = []
        for _ in range(rounds):
            verses = self.verses()
            losses.append(self.judged(input_ids=verses, labels=verses).loss.item())
            time.sleep(random.uniform(0.03, 0.15))
        points = 100 / (sum(losses) / rounds)
        self.table[name] = max(points, self.table.get(name, 0))
        return points


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    names = ("anapaest", "ballad", "couplet", "dactyl", "elegy")
    end, number = time.time() + float(os.environ.get("SECONDS", "45")), 0
    with tempfile.TemporaryDirectory() as folder:
        send_in(Path(folder), names)
        jury = Jury(Path(folder), names[0], device)
        while time.time() < end:
            name = random.choice(names)
            number += 1
            points = jury.judge(name, number)
            if number % 4 == 0:
                print("entry", number, name, "points", round(points, 2), "leads", max(jury.table, key=jury.table.get),
                      flush=True)
            time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
