"""Fixtures of several tests."""

from pathlib import Path

import pytest
import reference


@pytest.fixture(params=reference.SAMPLES, ids=lambda path: path.stem)
def sample(request) -> Path:
    """Each of the samples."""
    return request.param
