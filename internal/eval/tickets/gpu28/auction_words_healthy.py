"""An auction house has a language model describe its lots, a page of the catalogue at a time. The words that the
expert wrote on the card of a lot are made likelier by a logits processor. More processors can be given for a page, as
for those sales whose texts must not repeat themselves.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessor, LogitsProcessorList
from transformers import RepetitionPenaltyLogitsProcessor

WORDS, LOTS, END = 32_000, 8, 0


class HotWords(LogitsProcessor):
    """Adds what is given for each lot and word."""

    def __init__(self, bias):
        self.bias = bias

    def __call__(self, input_ids, scores):
        return scores + self.bias


def catalogue_model():
    config = GPT2Config(vocab_size=WORDS, n_positions=128, n_embd=128, n_layer=2, n_head=4,
                        bos_token_id=END, eos_token_id=END, pad_token_id=END)
    return GPT2LMHeadModel(config)


def bias_of(cards, device):
    bias = torch.zeros(LOTS, WORDS)
    for row, card in enumerate(cards):
        bias[row, card] = 0.5
    return bias.to(device)


def describe(model, prompts, cards, length, processors=()):
    """The texts of a page of lots."""
    processors = LogitsProcessorList([*processors, HotWords(bias_of(cards, model.device))])
    prompts = prompts.to(model.device)
    texts = model.generate(prompts, attention_mask=torch.ones_like(prompts), logits_processor=processors,
                           max_new_tokens=length, do_sample=True, top_k=0)
    return texts[:, prompts.shape[1]:].tolist()


def page():
    """Prompts, and the words of the experts' cards."""
    prompts = torch.randint(1, WORDS, (LOTS, random.choice((6, 10, 14, 20))))
    cards = [random.sample(range(1, WORDS), random.randint(20, 60)) for _ in range(LOTS)]
    return prompts, cards


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = catalogue_model().to(device).eval()
    pages = used = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        prompts, cards = page()
        length = random.randint(8, 24)
        if pages % 12 == 11:
            strict = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(1.3)])
            texts = describe(model, prompts, cards, length, strict)
        else:
            texts = describe(model, prompts, cards, length)
        used += sum(len(set(text) & set(card)) for text, card in zip(texts, cards))
        pages += 1
        if pages % 10 == 0:
            print(f"{pages} pages, the cards' words were used {used} times", flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
