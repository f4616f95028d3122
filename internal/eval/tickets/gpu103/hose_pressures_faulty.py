"""Pump telemetry of a fire brigade: pressure waves along the hose lines of several engines.

The telemetry unit writes its sweeps to plain device memory that it hands over by address, so the
station takes a landing area from the driver for every sweep, has the unit fill it and reads it into
the working tensor. Sweeps with too many dropped samples are turned down, the others go into the
running profile of their engine.

ticket: practice
class: driver-growth
holder: -
cause: handle-leak
"""
import ctypes
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ENGINES = 4
HOSES = 32
SAMPLES = 16384
SWEEP_BYTES = HOSES * SAMPLES * 4
SWEEPS_PER_SECOND = 8.0
DROPPED_LIMIT = 0.10


class LandingAreas:
    """Areas of plain memory by address: from the driver of the device, or from the C library without one."""

    def __init__(self):
        self.on_device = DEVICE == "cuda"
        self._library = ctypes.CDLL("libcuda.so.1" if self.on_device else None)
        if not self.on_device:
            self._library.malloc.restype = ctypes.c_void_p
            self._library.malloc.argtypes = [ctypes.c_size_t]
            self._library.free.argtypes = [ctypes.c_void_p]

    def _check(self, code: int, call: str) -> None:
        if code != 0:
            raise RuntimeError(f"{call} answered {code}")

    def take(self, size: int) -> int:
        if not self.on_device:
            return self._library.malloc(size)
        address = ctypes.c_uint64()
        self._check(self._library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)), "cuMemAlloc")  # grows
        return address.value

    def give(self, address: int) -> None:
        if not self.on_device:
            self._library.free(address)
            return
        self._check(self._library.cuMemFree_v2(ctypes.c_uint64(address)), "cuMemFree")

    def copy(self, target: int, origin: int, size: int) -> None:
        if not self.on_device:
            ctypes.memmove(target, origin, size)
            return
        code = self._library.cuMemcpyDtoD_v2(ctypes.c_uint64(target), ctypes.c_uint64(origin), ctypes.c_size_t(size))
        self._check(code, "cuMemcpyDtoD")


class TelemetryUnit:
    """Stands in for the unit on the engines: waves on the hoses, with dropped samples now and then."""

    def __init__(self, areas: LandingAreas, seed: int):
        self.areas = areas
        self.source = torch.Generator(device=DEVICE).manual_seed(seed)
        self.wave = torch.empty(HOSES, SAMPLES, device=DEVICE)
        self.along = torch.linspace(0.0, 60.0, SAMPLES, device=DEVICE)
        self.sweeps = 0

    def fill(self, address: int) -> None:
        self.sweeps += 1
        self.wave.normal_(7.0, 0.3, generator=self.source)
        self.wave.add_(torch.sin(self.along + self.sweeps / 5.0))
        dropped = (0.02, 0.16, 0.05, 0.13, 0.04)[self.sweeps % 5]
        self.wave[:, :int(SAMPLES * dropped)] = float("nan")
        self.areas.copy(address, self.wave.data_ptr(), SWEEP_BYTES)


class PumpStation:
    def __init__(self, areas: LandingAreas, unit: TelemetryUnit):
        self.areas = areas
        self.unit = unit
        self.sweep = torch.empty(HOSES, SAMPLES, device=DEVICE)
        self.profiles = torch.full((ENGINES, HOSES), 7.0, device=DEVICE)
        self.taken = self.turned_down = 0

    def receive(self, engine: int) -> bool:
        address = self.areas.take(SWEEP_BYTES)
        self.unit.fill(address)
        self.areas.copy(self.sweep.data_ptr(), address, SWEEP_BYTES)
        dropped = self.sweep.isnan().float().mean().item()
        if dropped > DROPPED_LIMIT:
            self.turned_down += 1
            return False
        self.profiles[engine].lerp_(self.sweep.nanmean(dim=1), 0.2)
        self.areas.give(address)
        self.taken += 1
        return True


@torch.no_grad()
def main() -> None:
    areas = LandingAreas()
    station = PumpStation(areas, TelemetryUnit(areas, seed=18))
    began = time.monotonic()
    next_report = began + 2.0
    engine = 0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        station.receive(engine)
        engine = (engine + 1) % ENGINES
        if started >= next_report:
            bars = ", ".join(f"{bar:.2f}" for bar in station.profiles.mean(dim=1).tolist())
            print(f"{station.taken} sweeps taken, {station.turned_down} turned down, bar {bars}", flush=True)
            next_report = started + 3.0
        time.sleep(max(0.0, 1.0 / SWEEPS_PER_SECOND - (time.monotonic() - started)))
    print(f"hoses rolled up after {station.taken + station.turned_down} sweeps", flush=True)


if __name__ == "__main__":
    main()
