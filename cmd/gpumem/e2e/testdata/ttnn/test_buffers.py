"""Tests that gpumem_ttnn judges, with a stub for ttnn."""

import pytest
import ttnn

kept = []
once = []


@pytest.fixture(scope="module")
def device():
    opened = ttnn.open_device(0)
    yield opened
    kept.clear()
    once.clear()
    ttnn.close_device(opened)


@pytest.fixture
def batch(device):
    return ttnn.zeros(1 << 20, device)


def test_frees_what_it_takes(device, batch, gpumem_ttnn):
    device.enable_program_cache()
    device.run(batch)


def test_makes_a_cycle(device, gpumem_ttnn):
    cycle = [ttnn.zeros(1 << 20, device)]
    cycle.append(cycle)


def test_keeps_a_constant(device, gpumem_ttnn):
    if not once:
        once.extend(ttnn.zeros(1 << 20, device) for _ in range(3))


def test_leaks(device, gpumem_ttnn):
    kept.extend(ttnn.zeros(1 << 20, device) for _ in range(3))


def test_fails_for_its_own_reason(device, gpumem_ttnn):
    kept.append(ttnn.zeros(1 << 20, device))
    assert 1 == 2


def test_is_not_asked_for(device):
    kept.append(ttnn.zeros(1 << 20, device))
