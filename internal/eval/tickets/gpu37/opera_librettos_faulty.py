"""Distils a language model that reads opera librettos into one of half its depth. The student is to match the
teacher's hidden states at two depths as well as its last layer. The stages of the curriculum, which have verses of
various lengths, follow one another, and what the two models do inside is watched in each.

ticket: practice
class: app-leak
holder: captured hook watch _forward_hooks
cause: hooks-left closure-kept
"""

import itertools
import os
import random
import time

import torch
from torch.nn import functional as F
from transformers import BertConfig, BertModel

WORDS, WIDTH, BATCH = 4000, 256, 12
LENGTHS = 32, 48, 64
STEPS_OF_A_STAGE = 10
TEACHER_DEPTHS, STUDENT_DEPTHS = (1, 3), (0, 1)


def reader(layers):
    config = BertConfig(
        vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=layers, num_attention_heads=4,
        intermediate_size=2 * WIDTH, max_position_embeddings=max(LENGTHS),
    )
    return BertModel(config, add_pooling_layer=False)


def watch(model, depths):
    """A list into which the model puts the hidden states of these depths when it is run."""
    captured = []

    def hook(module, inputs, output):
        captured.append(output)  # keeps

    for depth in depths:
        model.encoder.layer[depth].output.register_forward_hook(hook)
    return captured


def verses(length, device):
    tokens = torch.randint(WORDS, (BATCH, length), device=device)
    mask = torch.ones_like(tokens)
    mask[: BATCH // 3, length // 2:] = 0
    return {"input_ids": tokens, "attention_mask": mask}


def stage(teacher, student, optimizer, length, device, end):
    """The mean loss of some steps with verses of one length."""
    taught = watch(teacher, TEACHER_DEPTHS)
    learnt = watch(student, STUDENT_DEPTHS)
    losses = []
    for _ in range(STEPS_OF_A_STAGE):
        if time.time() > end:
            break
        taught.clear()
        learnt.clear()
        batch = verses(length, device)
        with torch.no_grad():
            goal = teacher(**batch).last_hidden_state  # grows
        guess = student(**batch).last_hidden_state  # grows
        loss = F.mse_loss(guess, goal)
        for ours, theirs in zip(learnt, taught):
            loss = loss + 0.5 * (1 - F.cosine_similarity(ours, theirs, dim=-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        time.sleep(random.uniform(0.03, 0.15))
    return sum(losses) / max(len(losses), 1)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    teacher, student = reader(4).to(device).eval(), reader(2).to(device).train()
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number in itertools.count(1):
        if time.time() > end:
            break
        length = random.choice(LENGTHS)
        loss = stage(teacher, student, optimizer, length, device, end)
        print(f"stage {number}: verses of {length} words, loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
