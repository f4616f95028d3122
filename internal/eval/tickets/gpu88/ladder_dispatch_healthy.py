"""Send the ladders and engines of a city's fire brigade to the calls that come in.

Each call brings the last seconds of the line's sound and a patch of the city map. A network makes a scene of the
two, a field of how likely fire, smoke and people are at each spot, and from the scene the centre chooses which crew
to send and where its ladder should stand. The crew has a quarter of an hour to confirm that it has arrived; if no
word comes by then, the centre looks at the scene again and sends a second crew. In this replay crews are quick.

ticket: practice
class: none
"""
import asyncio
import os
import random
import time

import torch
from torch import nn

CREWS = ("ladder 1", "ladder 4", "engine 2", "engine 7", "rescue 3")
CALLS_A_SECOND = 9.0
BANDS, FRAMES = 64, 128
PATCH = 192
CONFIRM_WITHIN = 15 * 60


class SceneNet(nn.Module):
    """A field of ten layers over the map patch, from the sound of the call and the map."""

    def __init__(self):
        super().__init__()
        self.sound = nn.Sequential(
            nn.Conv1d(BANDS, 48, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv1d(48, 32, 5, stride=4, padding=2), nn.ReLU(),
        )
        self.ground = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.ReLU())
        self.field = nn.Conv2d(16 + 32, 10, 3, padding=1)

    def forward(self, sound, ground):
        voice = self.sound(sound).mean(dim=2)[:, :, None, None].expand(-1, -1, PATCH, PATCH)
        return self.field(torch.cat([self.ground(ground), voice], dim=1)).sigmoid()


class Call:
    def __init__(self, number, scene):
        self.number = number
        self.scene = scene
        self.crew = None
        self.stand = None
        self.confirmed = False
        self.reminder = None


class Centre:
    def __init__(self, device):
        self.device = device
        self.net = SceneNet().to(device).eval()
        self.dice = random.Random(9)
        self.open_calls = {}
        self.taken = self.closed = self.second_crews = 0
        self.errands = set()

    @torch.no_grad()
    def picture(self):
        sound = torch.randn(1, BANDS, FRAMES, device=self.device)
        ground = torch.rand(1, 3, PATCH, PATCH, device=self.device)
        return self.net(sound, ground)[0]

    def place(self, scene):
        """Where the ladder should stand: likely people, and as little smoke as may be."""
        wish = scene[0] + scene[1] - 0.5 * scene[2]
        spot = int(wish.argmax())
        return divmod(spot, PATCH)

    def send(self, call):
        call.crew = CREWS[int(call.scene.mean(dim=(1, 2)).argmax()) % len(CREWS)]
        call.stand = self.place(call.scene)

    def take(self):
        self.taken += 1
        call = Call(self.taken, self.picture())
        self.send(call)
        self.open_calls[call.number] = call
        loop = asyncio.get_running_loop()
        call.reminder = loop.call_later(CONFIRM_WITHIN, self.escalate, call)
        errand = loop.create_task(self.drive(call.number))
        self.errands.add(errand)
        errand.add_done_callback(self.errands.discard)

    def escalate(self, call):
        if call.confirmed:
            return
        self.second_crews += 1
        call.scene[:, :8] *= 0.5
        self.send(call)

    async def drive(self, number):
        """The crew is on its way, arrives, and confirms."""
        await asyncio.sleep(self.dice.uniform(0.2, 1.2))
        self.confirm(number)

    def confirm(self, number):
        call = self.open_calls.pop(number)
        call.confirmed = True
        call.reminder.cancel()
        self.closed += 1

    async def shift(self, stop):
        due = time.time()
        while time.time() < stop:
            self.take()
            if self.taken % 50 == 0:
                call = self.open_calls[self.taken]
                print(f"{self.taken} calls, {self.closed} confirmed, {len(self.open_calls)} on the way; "
                      f"{call.crew} stands at {call.stand}", flush=True)
            due = max(due + 1.0 / CALLS_A_SECOND, time.time() - 0.5)
            await asyncio.sleep(max(0.0, due - time.time()))
        if self.errands:
            await asyncio.wait(self.errands, timeout=2.0)


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(9)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    centre = Centre(device)
    asyncio.run(centre.shift(stop))
    print(f"shift over: {centre.taken} calls, {centre.closed} confirmed, {centre.second_crews} second crews",
          flush=True)


if __name__ == "__main__":
    main()
