"""An evening tutor for schools.

Pupils come with a sheet of three exercises. A small language model reads each exercise, answers with a few words,
and waits for the next one while other pupils are served; what was said before in the lesson is taken into account.
When the sheet is done the pupil leaves and the next from the queue takes the seat. Each pupil's lesson has its own
number in the school's register. The model is built from a configuration; the words are numbers of a school
vocabulary.

ticket: practice
class: app-leak
holder: dialogues
cause: entries-left
"""
import os
import random
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

SEATS = 6
EXERCISES = 3
EXERCISE_WORDS = 32
REPLY_WORDS = 6
VOCABULARY = 6000
SUBJECTS = ("arithmetic", "spelling", "geography", "history", "botany", "grammar")
PAUSE = 0.05


class Lesson:
    def __init__(self, number, subject):
        self.number = number
        self.subject = subject
        self.answered = 0
        self.replies = []

    @property
    def done(self):
        return self.answered == EXERCISES


class ExerciseBook:
    """Draws the words of an exercise; every subject has its own part of the vocabulary."""

    def __init__(self, device):
        self.device = device
        self.share = VOCABULARY // len(SUBJECTS)

    def exercise(self, subject):
        start = SUBJECTS.index(subject) * self.share
        words = torch.randint(start, start + self.share, (1, EXERCISE_WORDS))
        return words.to(self.device)


class Tutor:
    def __init__(self, device):
        config = GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=256,
            n_embd=640,
            n_layer=10,
            n_head=10,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
        )
        self.model = GPT2LMHeadModel(config).to(device).eval()
        self.book = ExerciseBook(device)
        self.open_lessons = []
        self.dialogues = {}
        self.register = 0
        self.finished = 0

    def seat_pupil(self):
        self.register += 1
        lesson = Lesson(self.register, random.choice(SUBJECTS))
        self.open_lessons.append(lesson)
        return lesson

    @torch.no_grad()
    def answer_exercise(self, lesson):
        words = self.book.exercise(lesson.subject)
        said_before = self.dialogues.get(lesson.number)
        reply = []
        for _ in range(REPLY_WORDS + 1):
            answer = self.model(input_ids=words, past_key_values=said_before, use_cache=True)  # grows
            said_before = answer.past_key_values
            words = answer.logits[:, -1].argmax(dim=-1, keepdim=True)
            reply.append(int(words))
        self.dialogues[lesson.number] = said_before  # keeps
        lesson.replies.append(reply[:REPLY_WORDS])
        lesson.answered += 1

    def dismiss_pupil(self, lesson):
        self.open_lessons.remove(lesson)
        self.finished += 1

    def serve_round(self, deadline):
        """Every pupil at a seat has one exercise answered."""
        for lesson in list(self.open_lessons):
            if time.time() >= deadline:
                return
            self.answer_exercise(lesson)
            if lesson.done:
                self.dismiss_pupil(lesson)
                self.seat_pupil()
            time.sleep(PAUSE)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(7)
    random.seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    tutor = Tutor(device)
    for _ in range(SEATS):
        tutor.seat_pupil()
    print(f"the tutor is in, {SEATS} seats, on {device}", flush=True)

    rounds = 0
    while time.time() < deadline:
        tutor.serve_round(deadline)
        rounds += 1
        if rounds % 5 == 0:
            seated = ", ".join(lesson.subject for lesson in tutor.open_lessons[:3])
            print(f"round {rounds}: {tutor.finished} sheets done; now at the desk: {seated}", flush=True)
    print(f"evening over, {tutor.finished} sheets done", flush=True)


if __name__ == "__main__":
    main()
