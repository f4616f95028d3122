"""Tests for the pytest plugin to judge; the fake device is the only one."""

import pytest
import torch

MIB = 1 << 20
kept = []


@pytest.fixture(scope="module")
def weights():
    return torch.empty(32 * MIB)


@pytest.fixture
def batch():
    return torch.empty(8 * MIB)


def test_frees_what_it_takes(weights, batch):
    assert torch.empty(16 * MIB)


def test_leaks():
    kept.append(torch.empty(3 * MIB))


def test_fills_a_cache_the_first_time():
    if not hasattr(torch, "cache"):
        torch.cache = torch.empty(4 * MIB)


def test_keeps_less_than_the_tolerance():
    kept.append(torch.empty(MIB // 2))


@pytest.mark.gpumem(tolerance="256KiB")
def test_keeps_more_than_its_own_tolerance():
    kept.append(torch.empty(MIB // 2))


@pytest.mark.gpumem(tolerance=0, confirm=0, warmup=2)
def test_is_warm_after_two_runs(calls=[]):
    if len(calls) < 2:
        calls.append(torch.empty(4 * MIB))


@pytest.mark.gpumem(skip=True)
def test_is_not_looked_at():
    kept.append(torch.empty(64 * MIB))


def test_makes_a_cycle_that_the_collector_finds():
    cycle = [torch.empty(4 * MIB)]
    cycle.append(cycle)


def test_fails_for_its_own_reason():
    kept.append(torch.empty(4 * MIB))
    assert 1 == 2
