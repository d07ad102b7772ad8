"""What several tests use."""

import pytest
from kernels import SAXPY

import oriole


@pytest.fixture(scope="session")
def saxpy() -> oriole.Compiled:
    """The kernel that most tests launch."""
    return oriole.compile(SAXPY, file_name="saxpy.ptx")
