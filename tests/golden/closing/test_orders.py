"""Tests whose fixture waits for a service that is there at once."""
import time

import pytest


@pytest.fixture
def service():
    time.sleep(0.25)
    return {"orders": 3}


@pytest.mark.parametrize("count", range(6))
def test_orders(service, count):
    assert service["orders"] > 2
