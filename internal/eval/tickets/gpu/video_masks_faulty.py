"""A video predictor follows objects through a stream of frames. It looks at the memory of the last seven
frames and of those that were prompted,
and keeps the outputs of all others too.

ticket: facebookresearch/sam2#264
class: app-leak
holder: non_cond_frame_outputs output_dict
cause: cache-without-bound results-kept sessions-kept
"""

import dataclasses
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("predictor")


@dataclasses.dataclass
class Config:
    size: int = 256
    memory_frames: int = 7
    prompted: int = 4
    pause: float = 0.05
    seconds: float = float(os.environ.get("SECONDS", "40"))


class MemoryEncoder(nn.Module):
    def __init__(self, channels=64):
        super().__init__()
        self.image = nn.Conv2d(3, channels, 4, 4)
        self.mask = nn.Conv2d(1, channels, 4, 4)

    def forward(self, frame, mask):
        return self.image(frame) + self.mask(mask)  # grows


class MaskDecoder(nn.Module):
    def __init__(self, channels=64):
        super().__init__()
        self.mix = nn.Conv2d(channels, channels, 1)
        self.up = nn.ConvTranspose2d(channels, 1, 4, 4)

    def forward(self, features, pointer):
        return self.up(torch.relu(self.mix(features)) * torch.sigmoid(pointer)[:, :, None, None])  # grows


class VideoPredictor(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.features = nn.Conv2d(3, 64, 4, 4)
        self.encoder, self.decoder = MemoryEncoder(), MaskDecoder()

    def init_state(self):
        return {"frame": 0, "output_dict": {"cond_frame_outputs": {}, "non_cond_frame_outputs": {}}}

    def _memory_of(self, state):
        outputs = state["output_dict"]
        near = [outputs["non_cond_frame_outputs"].get(state["frame"] - back)
                for back in range(1, self.config.memory_frames)]
        return [kept for kept in near + list(outputs["cond_frame_outputs"].values()) if kept]

    @torch.inference_mode()
    def add_frame(self, state, frame, prompt=None):
        outputs, number = state["output_dict"], state["frame"]
        features = self.features(frame)
        for kept in self._memory_of(state):
            features = features + 0.1 * kept["maskmem_features"]
        pointer = features.mean(dim=(2, 3))
        masks = self.decoder(features, pointer) if prompt is None else prompt
        entry = {
            "maskmem_features": self.encoder(frame, torch.sigmoid(masks)),
            "pred_masks": masks, "obj_ptr": pointer}
        if prompt is None:
            outputs["non_cond_frame_outputs"][number] = entry  # grows
        else:
            outputs["cond_frame_outputs"][number] = entry
            if len(outputs["cond_frame_outputs"]) > self.config.prompted:
                outputs["cond_frame_outputs"].pop(min(outputs["cond_frame_outputs"]))
        state["frame"] = number + 1
        return (masks > 0).float().mean().item()


class Stream:
    """Frames as a camera gives them: some while nothing, then a burst."""

    def __init__(self, config, device):
        self.config, self.device = config, device
        self.scene = torch.rand(1, 3, config.size, config.size, device=device)

    def frames(self, end):
        while time.time() < end:
            for _ in range(random.randint(10, 60)):
                self.scene = (self.scene.roll(1, dims=-1) + 0.02 * torch.randn_like(self.scene)).clamp(0, 1)
                yield self.scene
                time.sleep(self.config.pause)
            time.sleep(random.uniform(0.0, 0.6))


def track(config):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    predictor, stream = VideoPredictor(config).to(device).eval(), Stream(config, device)
    state, covered = predictor.init_state(), []
    for frame in stream.frames(time.time() + config.seconds):
        prompt = torch.randn(1, 1, config.size, config.size, device=device) if state["frame"] % 90 == 0 else None
        covered.append(predictor.add_frame(state, frame, prompt))
        if len(covered) == 100:
            log.info("frame %d: covers %.2f", state["frame"], sum(covered) / len(covered))
            covered.clear()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    track(Config())
