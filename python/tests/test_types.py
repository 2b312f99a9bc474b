"""Types and documentation match the package."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import gamewire

PACKAGE = Path(__file__).parents[1]


def mypy(*arguments):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", *arguments]
    ran = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_package_is_typed():
    mypy("mypy", "--strict", "--no-incremental", "gamewire", "tests/typed.py")


def test_the_stub_matches_the_native_part():
    mypy("mypy.stubtest", "gamewire._native")


def test_all_public_items_are_documented():
    for name in gamewire.__all__:
        public = getattr(gamewire, name)
        assert name == "__version__" or inspect.getdoc(public), name


def test_the_version_is_that_of_the_program():
    manifest = (PACKAGE.parent / "Cargo.toml").read_text()
    assert f'\nversion = "{gamewire.__version__}"\n' in manifest
