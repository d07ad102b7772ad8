"""The Python of the book's page on the package is run, and prints what the page says."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"

# Blocks of Python, each with the block of text that the page says it prints, if it says so.
BLOCKS = re.findall(r"^```python\n(.*?)^```\n(?:\nprints\n\n```\n(.*?)^```\n)?", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def blocks_with(word):
    found = [(code, printed) for code, printed in BLOCKS if word in code]
    assert found, f"the page has no block with {word}"
    return found


def run(code, folder):
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_its_blocks():
    """A block that no test here takes would be read and never run."""
    taken = [code for word in ("oriole_gpu.compile", "oriole_kernel", "oriole_triton", "oriole_gpu.triton", "oriole_gpu.cute", "oriole_gpu.tile") for code, _ in blocks_with(word)]
    assert sorted(taken) == sorted(code for code, _ in BLOCKS)


def test_the_example_prints_what_the_page_says(tmp_path):
    for code, printed in blocks_with("oriole_gpu.compile"):
        lines = run(code, tmp_path).splitlines()
        # The time of a compilation is the host's, and the page leaves it out.
        assert [line for line in lines if "Compile time" not in line] == printed.splitlines()


def test_the_fixture_runs_the_kernel_beside_the_test(pytester):
    for code, _ in blocks_with("oriole_kernel"):
        shutil.copy(ROOT / "examples" / "pytest" / "twice.ptx", pytester.path)
        pytester.makepyfile(f"import numpy\n\n{code}")
        pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_example_of_pytest_passes(pytester):
    shutil.copytree(ROOT / "examples" / "pytest", pytester.path / "kernels")
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "kernels", "--oriole-arch", "sm_90", "--oriole-strict", "--oriole-check")
    ran.assert_outcomes(passed=1)


def test_triton(tmp_path):
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    for code, _ in blocks_with("oriole_gpu.triton"):
        # Triton reads a kernel's source from its file.
        path = tmp_path / "page.py"
        path.write_text(code)
        done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) > 0


@pytest.mark.parametrize(("word", "package"), [("oriole_gpu.cute", "cutlass"), ("oriole_gpu.tile", "cuda.tile")])
def test_other_languages(word, package, tmp_path):
    pytest.importorskip(package)
    for code, printed in blocks_with(word):
        # They read a kernel's source from its file.
        path = tmp_path / "page.py"
        path.write_text(code)
        done = subprocess.run([sys.executable, "-W", "ignore", path], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert done.stdout == printed


def test_the_fixture_of_triton(pytester):
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    for code, _ in blocks_with("oriole_triton"):
        head = """
import torch, triton, triton.language as tl
from oriole_gpu.triton import tensor

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

x, y = torch.rand(1000).numpy(), torch.zeros(1000).numpy()
"""
        pytester.makepyfile(head + code)
        pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
