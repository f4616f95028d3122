"""Radio watch of a coast station: calls for help are found in the noise of the distress channels.

The receiver hands over blocks of samples of all channels.  A block is limited to the voice band, the
two-tone alarm is looked for with a pair of narrow filters, and the band-limited sound goes to the tape of
the station in sixteen bits.  When an alarm is found, the watch plays the last stretch of the tape again at
half speed, to read the name of the vessel, and notes the channel in the log of the watch.

    ticket: practice
    class: host-growth
    holder: tape
    cause: buffer-without-bound
"""
import os
import time
from collections import deque
from itertools import islice

import torch

CHANNELS = 16
RATE = 48_000
BLOCK = 16_384
REPLAY_BYTES = 12 * BLOCK * CHANNELS * 2
PACE_S = 0.095
TONES = (1300.0, 2200.0)


def receiver(seed):
    """Blocks of noise with static, and now and then the alarm on a channel."""
    dice = torch.Generator().manual_seed(seed)
    moments = torch.arange(BLOCK) / RATE
    calling, left = 0, 0
    while True:
        block = 0.2 * torch.randn(CHANNELS, BLOCK, generator=dice)
        block[:, ::4096] += 1.5
        if left == 0 and torch.rand(1, generator=dice) < 0.06:
            calling, left = int(torch.randint(CHANNELS, (1,), generator=dice)), 5
        if left:
            tone = TONES[left % 2]
            block[calling] += 0.08 * torch.sin(2.0 * torch.pi * tone * moments)
            left -= 1
        yield block


class VoiceBand:
    """Band limit by the spectrum, with soft edges."""

    def __init__(self, low=300.0, high=3400.0):
        pitch = torch.fft.rfftfreq(BLOCK, 1.0 / RATE)
        self.gain = torch.sigmoid((pitch - low) / 20.0) * torch.sigmoid((high - pitch) / 60.0)

    def __call__(self, blocks):
        for block in blocks:
            spectrum = torch.fft.rfft(block) * self.gain
            yield spectrum, torch.fft.irfft(spectrum, n=BLOCK)


class AlarmFinder:
    def __init__(self):
        pitch = torch.fft.rfftfreq(BLOCK, 1.0 / RATE)
        self.filters = torch.stack([(pitch - tone).abs() < 9.0 for tone in TONES]).float()
        self.floor = torch.ones(CHANNELS)

    def find(self, spectrum):
        power = spectrum.real.square() + spectrum.imag.square()
        level = power.mean(1)
        tones = (power @ self.filters.T) / self.filters.sum(1)
        self.floor.lerp_(level, 0.1)
        return (tones.amax(1) > 60.0 * self.floor).nonzero().flatten().tolist()


class StationTape:
    """Sound of all channels in sixteen bits, interleaved, the latest at the end."""

    def __init__(self):
        self.tape = bytearray()
        self.blocks = 0

    def record(self, sound):
        pcm = (sound.T.clamp(-1.0, 1.0) * 32767.0).to(torch.int16).contiguous()
        self.tape += pcm.numpy().tobytes()  # grows keeps
        self.blocks += 1

    def replay(self, channel):
        """The last blocks of a channel, at half speed."""
        length = min(len(self.tape), REPLAY_BYTES)
        late = torch.frombuffer(self.tape[-length:], dtype=torch.int16)
        sound = late.view(-1, CHANNELS)[:, channel].float() / 32767.0
        return torch.nn.functional.interpolate(sound[None, None], scale_factor=2.0, mode="linear")[0, 0]


class Watch:
    def __init__(self):
        self.tape = StationTape()
        self.finder = AlarmFinder()
        self.log = deque(maxlen=50)

    def stand(self, spectrum, sound):
        self.tape.record(sound)
        for channel in self.finder.find(spectrum):
            voice = self.tape.replay(channel)
            self.log.append((self.tape.blocks, channel, float(voice.square().mean().sqrt())))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    watch = Watch()
    stream = VoiceBand()(receiver(53))
    while time.time() < end:
        for spectrum, sound in islice(stream, 16):
            watch.stand(spectrum, sound)
            time.sleep(PACE_S)
        last = watch.log[-1] if watch.log else None
        print(f"{watch.tape.blocks} blocks on the air, {len(watch.log)} alarms in the log, last {last}", flush=True)


if __name__ == "__main__":
    main()
