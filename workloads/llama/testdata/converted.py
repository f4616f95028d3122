"""Makes a small Llama with Hugging Face's transformers and has llama.cpp's converter write it.

Usage: converted.py CONVERTER FOLDER TYPE...   (types as the converter's --outtype has them)
Trains a tokenizer and the model on a few sentences, so that it has something to say, and
writes FOLDER/model-TYPE.gguf. Prints JSON: what sentencepiece makes of the prompt, and for
each type the logits after it and the tokens that transformers chooses greedily from there,
computed by transformers from the file where the type rounds the weights.
"""
import json
import os
import runpy
import sys

import sentencepiece
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

PROMPT, COUNT = "memory grows", 24
SENTENCES = (
    "memory grows and someone has to say whose it is.",
    "a pool keeps buffers that nobody owns.",
    "the driver keeps temporaries of every command.",
)


def tokenizer(folder):
    stem = os.path.join(folder, "tokenizer")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 20), model_prefix=stem, vocab_size=320, model_type="bpe",
        byte_fallback=True, character_coverage=1.0, hard_vocab_limit=False, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(stem + ".model")


def trained(words):
    torch.manual_seed(7)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=words.vocab_size(), hidden_size=64, intermediate_size=160, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.1,
        bos_token_id=1, eos_token_id=2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    batches = [torch.tensor([[1] + words.encode(s) + [2]]) for s in SENTENCES]
    for _ in range(30):
        for batch in batches:
            optimizer.zero_grad()
            model(batch, labels=batch).loss.backward()
            optimizer.step()
    return model.eval()


def convert(converter, folder, kind):
    # The converter names types that an older PyTorch lacks; this model has none of them.
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "uint16", "uint32", "uint64"):
        if not hasattr(torch, name):
            setattr(torch, name, object())
    name = f"model-{kind}.gguf"
    sys.argv = [converter, folder, "--outfile", os.path.join(folder, name), "--outtype", kind]
    runpy.run_path(converter, run_name="__main__")
    return name


@torch.no_grad()
def says(model, tokens):
    def after(chosen):
        return model(torch.tensor([tokens + chosen])).logits[0, -1]

    chosen = []
    while len(chosen) < COUNT and chosen[-1:] != [model.config.eos_token_id]:
        chosen.append(int(after(chosen).argmax()))
    return {"logits": after([]).tolist(), "tokens": chosen}


def main():
    converter, folder, kinds = sys.argv[1], sys.argv[2], sys.argv[3:]
    words = tokenizer(folder)
    model = trained(words)
    model.save_pretrained(folder)
    tokens = [words.bos_id()] + words.encode(PROMPT)
    answers = {}
    for kind in kinds:
        name = convert(converter, folder, kind)
        if kind != "f32":
            read = load_gguf_checkpoint(os.path.join(folder, name), return_tensors=True)
            model.load_state_dict(read["tensors"])
        answers[kind] = says(model, tokens)
        answers[kind]["text"] = words.decode(tokens + answers[kind]["tokens"])[len(PROMPT):]
    print(json.dumps({"prompt": PROMPT, "tokens": tokens, "answers": answers}))


main()
