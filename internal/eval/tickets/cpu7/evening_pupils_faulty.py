"""Conversation tutor of an evening language school.

Pupils walk in a few times a second and talk with a small recurrent tutor. The placement test of a pupil is encoded
once; the tutor attends to that encoding while it answers in sentences of varying lengths, and borrows a partner for
each exchange from the pupils who are in the room. Every pupil stays for a couple of exchanges and goes home.

ticket: practice
class: host-growth
holder: present
cause: sessions-kept
"""
import asyncio
import os
import random
import time

import torch
from torch import nn

WORDS = 600
WIDTH = 256
TEST_WORDS = 800
STOP = 0
ARRIVAL_GAP = 0.16


class Tutor(nn.Module):
    """Encodes placement tests and decodes answers one word at a time."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.encode = nn.Linear(WIDTH, WIDTH)
        self.cell = nn.GRUCell(2 * WIDTH, WIDTH)
        self.vocabulary = nn.Linear(WIDTH, WORDS)

    def read(self, words):
        return torch.tanh(self.encode(self.embed(words)))

    def answer(self, memory, partner_mood, longest):
        hidden = partner_mood.clone()
        word = torch.tensor([1])
        sentence = []
        while len(sentence) < longest:
            weights = torch.softmax(memory @ hidden[0] / WIDTH ** 0.5, dim=0)
            context = (weights @ memory).unsqueeze(0)
            hidden = self.cell(torch.cat([self.embed(word), context], dim=1), hidden)
            odds = torch.softmax(self.vocabulary(hidden) * 3.0, dim=1)
            word = torch.multinomial(odds, 1)[:, 0]
            if word.item() == STOP:
                break
            sentence.append(word.item())
        return sentence, hidden


class Pupil:
    """One visitor of the evening: an encoded test and the mood after the last exchange."""

    def __init__(self, number, memory):
        self.number = number
        self.memory = memory
        self.mood = torch.zeros(1, WIDTH)
        self.exchanges = random.randint(2, 3)


class Classroom:
    def __init__(self, tutor):
        self.tutor = tutor
        self.present = set()
        self.visits = 0
        self.spoken = 0

    def enter(self):
        test = torch.randint(1, WORDS, (TEST_WORDS,))
        self.visits += 1
        pupil = Pupil(self.visits, self.tutor.read(test))  # grows
        self.present.add(pupil)  # keeps
        return pupil

    def partner_for(self, pupil):
        others = [other for other in self.present if other is not pupil]
        return random.choice(others) if others else pupil

    def exchange(self, pupil):
        partner = self.partner_for(pupil)
        longest = random.randint(3, 12)
        sentence, pupil.mood = self.tutor.answer(pupil.memory, partner.mood, longest)
        self.spoken += len(sentence)


async def visit(room):
    pupil = room.enter()
    for _ in range(pupil.exchanges):
        room.exchange(pupil)
        await asyncio.sleep(random.uniform(0.1, 0.3))


async def opening_hours(end):
    room = Classroom(Tutor().eval())
    visits = set()
    next_line = time.time() + 3.0
    while time.time() < end:
        task = asyncio.create_task(visit(room))
        visits.add(task)
        task.add_done_callback(visits.discard)
        if time.time() >= next_line:
            print(f"{room.visits} visits, {room.spoken} words spoken, {len(visits)} talking", flush=True)
            next_line += 3.0
        await asyncio.sleep(ARRIVAL_GAP)
    await asyncio.gather(*visits)
    print(f"closing after {room.visits} visits", flush=True)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(11)
    random.seed(11)
    with torch.no_grad():
        asyncio.run(opening_hours(end))


if __name__ == "__main__":
    main()
