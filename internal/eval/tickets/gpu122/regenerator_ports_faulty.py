"""Port survey of a cross-fired glass furnace.

Each burner port of the regenerators has two half views from its commissioning, one of the left and one of the right
jamb, and with each half the signature of the flame which all later firings are held against. A probe camera surveys
one port after another anew; its full view takes the place of the two halves, and the signatures stay as they were.

    ticket: practice
    class: pool-growth
    holder: signatures
    cause: fragmentation
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
SURVEY_EVERY = 24
PORTS = 40
ROWS, HALF = 1280, 1024
SIGNATURE = (336, 1024)
HOT_JAMB = 1585.0


class ProbeCamera:
    """Makes the views and the flames."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)

    def half_view(self, mean):
        view = torch.empty(ROWS, HALF, device=DEVICE)
        return view.normal_(mean, 6.0, generator=self.generator)

    def retake(self, view, mean):
        view.normal_(mean, 6.0, generator=self.generator)

    def flame(self, shape):
        return torch.rand(shape, generator=self.generator, device=DEVICE)


class Port:
    """One burner port with its views and its signatures."""

    def __init__(self, number):
        self.number = number
        self.views = []
        self.signatures = []
        self.surveys = 0
        self.jamb = 0.0

    def full_view(self):
        """The halves side by side, or the view which has taken their place."""
        return self.views[0] if len(self.views) == 1 else torch.cat(self.views, dim=1)  # grows

    def profile(self, row):
        return torch.cat([view[row] for view in self.views])


class Regenerator:
    def __init__(self, camera):
        self.camera = camera
        self.ports = [Port(number) for number in range(1, PORTS + 1)]

    def commission(self):
        """Goes along the ports, at each one along its jambs: the view, then the flame."""
        for port in self.ports:
            for jamb in range(2):
                port.views.append(self.camera.half_view(1560.0 + port.number + 2.0 * jamb))
                self.sign(port, torch.empty(SIGNATURE, device=DEVICE))  # grows

    def sign(self, port, signature):
        for row in range(0, SIGNATURE[0], 84):
            signature[row:row + 84].copy_(self.camera.flame((84, SIGNATURE[1])))
        port.signatures.append(signature)  # keeps

    def survey(self, port):
        """Takes the port anew over its full width."""
        view = port.full_view()
        self.camera.retake(view, 1562.0 + port.number + port.surveys)
        port.views = [view]
        port.surveys += 1

    def hold_against(self, port, row, side):
        """How far a firing from one side is from the signature of the port."""
        flame = self.camera.flame((SIGNATURE[1],))
        port.jamb = float(port.profile(row).mean())
        return float((flame - port.signatures[side][row % SIGNATURE[0]]).abs().mean())


class FiringLog:
    def __init__(self):
        self.worst = 0.0
        self.worst_port = 0
        self.hot = 0

    def enter(self, port, distance):
        if distance > self.worst:
            self.worst, self.worst_port = distance, port.number
        if port.jamb > HOT_JAMB:
            self.hot += 1


def run_campaign(seconds):
    regenerator = Regenerator(ProbeCamera(seed=3301))
    regenerator.commission()
    log = FiringLog()
    started = time.monotonic()
    turn = 0
    surveyed = 0
    while time.monotonic() - started < seconds:
        if turn % SURVEY_EVERY == 0:
            regenerator.survey(regenerator.ports[surveyed % PORTS])
            surveyed += 1
        port = regenerator.ports[(turn * 7) % PORTS]
        log.enter(port, regenerator.hold_against(port, turn % ROWS, (turn // 160) % 2))
        turn += 1
        if turn % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"firing {turn}: {surveyed} surveys, port {log.worst_port} is {log.worst:.3f} off its signature, "
                  f"hot {log.hot}", flush=True)
        time.sleep(max(0.0, started + turn / ROUNDS_PER_SECOND - time.monotonic()))
    return turn, surveyed, log


def main():
    torch.set_num_threads(1)
    firings, surveyed, log = run_campaign(float(os.environ.get("SECONDS", "120")))
    print(f"campaign ended after {firings} firings and {surveyed} surveys; port {log.worst_port} was worst", flush=True)


if __name__ == "__main__":
    main()
