"""Search desk of an antiquarian bookshop.

Customers type what they half remember of a book ("green cover, a whale, printed in Leiden").  A
BERT encoder, built here from its config, turns the words into one vector a token; the shop's
books stand ready as one vector each, and a book scores by the tokens that point at it.  Popular
requests come again and again all day, so vectors already made are used for them a second time.

ticket: practice
class: none
"""
import os
import random
import time
import zlib
from collections import OrderedDict

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TOKENS = 48
WIDTH = 512
VOCABULARY = 8000
BOOKS = 2000
BATCH = 24
TEXTS_AT_HAND = 192

COLOURS = "green red brown blue black ivory grey marbled gilt faded".split()
THINGS = "whale lighthouse orchard clock duel comet lantern monastery harvest river bell ferry".split()
PLACES = "Leiden Antwerp Venice Basel Prague Lisbon Oxford Weimar Bruges Krakow".split()
KINDS = "novel atlas hymnal almanac herbal travelogue libretto grammar cookbook diary".split()


class Customers:
    """Every third question is one of the usual ones; the others are put in the asker's own words."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.usual = [self.own_words() for _ in range(120)]

    def own_words(self):
        pick = self.dice.choice
        year = self.dice.randrange(1620, 1925)
        return (f"{pick(KINDS)} with a {pick(THINGS)} and a {pick(THINGS)} on a {pick(COLOURS)} cover, "
                f"{pick(PLACES)} {year}, about {self.dice.randrange(80, 900)} pages")

    def queue(self, size):
        return [self.dice.choice(self.usual) if self.dice.random() < 0.35 else self.own_words()
                for _ in range(size)]


def word_numbers(text):
    numbers = [1] + [10 + zlib.crc32(word.encode()) % (VOCABULARY - 10) for word in text.lower().split()]
    return (numbers + [0] * TOKENS)[:TOKENS]


class QueryEncoder:
    def __init__(self):
        config = BertConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=4,
                            num_attention_heads=8, intermediate_size=1024,
                            max_position_embeddings=64)
        self.model = BertModel(config, add_pooling_layer=False).to(DEVICE).eval()
        self.vectors_by_text = OrderedDict()
        self.asked = 0
        self.ready = 0

    def run_model(self, texts):
        """Always a full batch, filled up with empty lines, so that the model sees one shape only."""
        rows = [word_numbers(text) for text in texts]
        rows += [[1] + [0] * (TOKENS - 1)] * (BATCH - len(rows))
        ids = torch.tensor(rows, device=DEVICE)
        mask = (ids != 0).long()
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        return F.normalize(hidden, dim=-1) * mask[..., None]

    def encode(self, texts):
        answer = {text: self.vectors_by_text[text] for text in texts if text in self.vectors_by_text}
        for text in answer:
            self.vectors_by_text.move_to_end(text)
        self.asked += len(texts)
        self.ready += sum(text in answer for text in texts)
        fresh = [text for text in dict.fromkeys(texts) if text not in answer]
        if fresh:
            for text, vectors in zip(fresh, self.run_model(fresh)):
                answer[text] = vectors.clone()
                self.vectors_by_text[text] = answer[text]
            while len(self.vectors_by_text) > TEXTS_AT_HAND:
                self.vectors_by_text.popitem(last=False)
        return torch.stack([answer[text] for text in texts])


def rank(vectors, books):
    pointing = (vectors.reshape(-1, WIDTH) @ books.T).view(len(vectors), TOKENS, BOOKS)
    return pointing.clamp_min(0.0).mean(dim=1).topk(5, dim=1)


@torch.no_grad()
def serve(ends):
    encoder = QueryEncoder()
    books = F.normalize(torch.randn(BOOKS, WIDTH), dim=1).to(DEVICE)
    customers = Customers(seed=4)
    rounds = 0
    while time.time() < ends:
        texts = customers.queue(BATCH)
        scores, found = rank(encoder.encode(texts), books)
        best = found[0, 0].item()
        rounds += 1
        if rounds % 30 == 0:
            share = encoder.ready / encoder.asked
            print(f"round {rounds}: {encoder.asked} questions, {share:.0%} known, "
                  f"shelf mark {best} at {scores[0, 0].item():.3f}", flush=True)
        time.sleep(0.1)
    print(f"shop closed, {encoder.asked} questions answered", flush=True)


def main():
    ends = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(17)
    serve(ends)


if __name__ == "__main__":
    main()
