"""A server labels texts of many tenants, each with a vocabulary of its own. Requests come in bursts; a tokenizer
is built once for all that wait for it, and those of the ten tenants that came last stay on the shelf.

ticket: llm-d/llm-d-kv-cache#191
class: none
"""

import collections
import logging
import os
import queue
import random
import threading
import time

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForSequenceClassification

log = logging.getLogger("labels")
WORDS = 12000


def build(tenant):
    """Reads the vocabulary of a tenant: all words of the model, in an order of its own."""
    draw = random.Random(tenant)
    vocabulary = {"[UNK]": 0}
    for number in range(1, WORDS):
        vocabulary["%s%04x%s" % (tenant[:2], number, draw.choice("abcdefgh"))] = number
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=96)
    tokenizer.enable_truncation(96)
    return tokenizer


class Tokenizers:
    def __init__(self, limit):
        self.limit, self.shelf, self.loaded, self.lock = limit, collections.OrderedDict(), 0, threading.Lock()

    def get(self, tenant):
        with self.lock:
            if tenant not in self.shelf:
                self.shelf[tenant] = build(tenant)
                self.loaded += 1
            self.shelf.move_to_end(tenant)
            while len(self.shelf) > self.limit:
                self.shelf.popitem(last=False)
            return self.shelf[tenant]


class Labels:
    def __init__(self, device):
        config = BertConfig(vocab_size=WORDS, hidden_size=192, num_hidden_layers=3, num_attention_heads=4,
                            intermediate_size=512, num_labels=8)
        self.model, self.device = BertForSequenceClassification(config).to(device).eval(), device
        self.tokenizers, self.requests, self.served = Tokenizers(limit=10), queue.Queue(maxsize=64), 0

    @torch.inference_mode()
    def label(self, tenant, texts):
        tokenizer = self.tokenizers.get(tenant)
        ids = torch.tensor([e.ids for e in tokenizer.encode_batch(texts)], device=self.device)
        return self.model(input_ids=ids).logits.argmax(1).tolist()

    def work(self):
        for tenant, texts in iter(self.requests.get, None):
            self.label(tenant, texts)
            self.served += 1


def clients(labels, end):
    """Bursts of a tenant: new ones come all the time, some of the others come back."""
    tenants = 0
    while time.time() < end:
        tenants += random.random() < 0.7
        tenant = "t%d" % (tenants if random.random() < 0.8 else random.randint(max(0, tenants - 10), tenants))
        for _ in range(random.randint(1, 5)):
            words = ["%s%04x%s" % (tenant[:2], random.randrange(WORDS), random.choice("abcdefgh")) for _ in range(40)]
            labels.requests.put((tenant, [" ".join(words)] * random.randint(1, 6)))
        time.sleep(random.choice([0.1, 0.4, 0.7, 1.0]))


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    labels = Labels("cuda" if torch.cuda.is_available() else "cpu")
    workers = [threading.Thread(target=labels.work) for _ in range(3)]
    feeder = threading.Thread(target=clients, args=(labels, end))
    for thread in workers + [feeder]:
        thread.start()
    while time.time() < end:
        time.sleep(3.0)
        log.info("%d requests served", labels.served)
    feeder.join()
    for _ in workers:
        labels.requests.put(None)
    for thread in workers:
        thread.join()


if __name__ == "__main__":
    main()
