"""Makes a small Llama with Hugging Face's transformers and has llama.cpp's converter write it.

Usage: converted.py CONVERTER FOLDER TYPE...   (types as the converter's --outtype has them)
Trains a tokenizer and the model on a few sentences, so that it has something to say, and
writes FOLDER/model-TYPE.gguf. Prints JSON: what sentencepiece makes of the prompt and of a
turn of a chat, and for each type the logits after the prompt, the tokens that transformers
chooses greedily from there, and its reply in the chat, computed by transformers from the
file where the type rounds the weights.
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
# Zephyr's template, as models of TinyLlama have it.
TEMPLATE = (
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + "
    "eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n"
    "{% endif %}\n{% endfor %}")
TURNS = (
    ("whose memory is it?", "it is the pool that keeps buffers."),
    ("and what keeps temporaries?", "the driver, of every command."),
)


def tokenizer(folder):
    stem = os.path.join(folder, "tokenizer")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 20), model_prefix=stem, vocab_size=320, model_type="bpe",
        byte_fallback=True, character_coverage=1.0, hard_vocab_limit=False, minloglevel=2,
        normalization_rule_name="identity", remove_extra_whitespaces=False)
    return sentencepiece.SentencePieceProcessor(stem + ".model")


def turn(words, question):
    """A turn up to where the model answers: what ends it is a token of its own."""
    return words.encode("<|user|>\n" + question) + [words.eos_id()] + words.encode("\n<|assistant|>\n")


def lessons(words):
    for sentence in SENTENCES:
        yield [1] + words.encode(sentence) + [2]
    chat = [1]
    for question, answer in TURNS:
        chat += turn(words, question) + words.encode(answer) + [2]
    yield chat


def trained(words):
    torch.manual_seed(7)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=words.vocab_size(), hidden_size=64, intermediate_size=160, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.1,
        bos_token_id=1, eos_token_id=2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    batches = [torch.tensor([lesson]) for lesson in lessons(words)]
    for _ in range(60):
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
def logits(model, tokens):
    return model(torch.tensor([tokens])).logits[0, -1]


def greedy(model, tokens):
    chosen = []
    while len(chosen) < COUNT and chosen[-1:] != [model.config.eos_token_id]:
        chosen.append(int(logits(model, tokens + chosen).argmax()))
    return chosen


def main():
    converter, folder, kinds = sys.argv[1], sys.argv[2], sys.argv[3:]
    words = tokenizer(folder)
    model = trained(words)
    model.save_pretrained(folder)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"chat_template": TEMPLATE}, f)
    tokens = [words.bos_id()] + words.encode(PROMPT)
    questions = [question for question, _ in TURNS]
    first = [words.bos_id()] + turn(words, questions[0])
    answers = {}
    for kind in kinds:
        name = convert(converter, folder, kind)
        if kind != "f32":
            read = load_gguf_checkpoint(os.path.join(folder, name), return_tensors=True)
            model.load_state_dict(read["tensors"])
        chosen = greedy(model, tokens)
        replies, said = [], [words.bos_id()]
        for question in questions:
            said += turn(words, question)
            reply = greedy(model, said)
            said += reply
            replies.append(words.decode(reply))
        answers[kind] = {"logits": logits(model, tokens).tolist(), "tokens": chosen, "replies": replies,
                         "text": words.decode(tokens + chosen)[len(PROMPT):]}
    print(json.dumps({"prompt": PROMPT, "tokens": tokens, "questions": questions, "turn": first, "answers": answers}))


main()
