"""What several tests use."""

import pytest
from kernels import SAXPY

import oriole_gpu


@pytest.fixture(scope="session")
def saxpy() -> oriole_gpu.Compiled:
    """The kernel that most tests launch."""
    return oriole_gpu.compile(SAXPY, file_name="saxpy.ptx")
