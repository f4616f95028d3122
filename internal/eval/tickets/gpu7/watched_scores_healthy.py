"""A text service watches how sure its model is. A processor of scores, made once and given to each call of generate,
keeps the scores of every step and gives them up when a request is through.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor, LogitsProcessorList


class Confidence(LogitsProcessor):
    """Looks at the scores of each step and says afterwards how sure the model was."""

    def __init__(self):
        self.steps, self.entropies = [], []

    def __call__(self, input_ids, scores):
        self.steps.append(scores.clone())
        return scores

    def summary(self):
        for scores in self.steps[len(self.entropies):]:
            p = scores.softmax(-1)
            self.entropies.append(float(-(p * p.clamp_min(1e-9).log()).sum(-1).mean()))
        return sum(self.entropies) / len(self.entropies)

    def reset(self):
        self.steps, self.entropies = [], []


class TextService:
    def __init__(self, device):
        config = LlamaConfig(vocab_size=12000, hidden_size=96, intermediate_size=192, num_hidden_layers=2,
                             num_attention_heads=4, max_position_embeddings=512, bos_token_id=1, eos_token_id=2,
                             pad_token_id=0)
        self.device = device
        self.model = LlamaForCausalLM(config).to(device).eval()
        self.watch = Confidence()

    @torch.inference_mode()
    def answer(self, prompts):
        out = self.model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=True,
                                  min_new_tokens=8, max_new_tokens=random.randint(10, 28), temperature=0.8,
                                  logits_processor=LogitsProcessorList([self.watch]))
        sure = self.watch.summary()
        self.watch.reset()
        return out[:, prompts.shape[1]:].tolist(), sure

    def requests(self):
        return torch.randint(3, 12000, (random.randint(2, 6), random.randint(6, 40)), device=self.device)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service, done = TextService("cuda" if torch.cuda.is_available() else "cpu"), 0
    while time.time() < end:
        for _ in range(random.choice((1, 1, 1, 4))):
            answers, sure = service.answer(service.requests())
            done += 1
            if done % 12 == 0:
                print(done, "batches", len(answers), "answers", round(sure, 3), flush=True)
        time.sleep(random.uniform(0.3, 1.2))


if __name__ == "__main__":
    main()
