#!/bin/sh
# Installs the package into a clean environment, as users do, and runs its tests. Says "skipped" and ends with status 0 where
# Python's package index cannot be reached. With mypy, if the index has it, the package's types are checked too.
#
# PYTHON names the interpreter (python3); CARGO_TARGET_DIR keeps what was built.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"${PYTHON:-python3}" -m venv "$folder/venv"
pip="$folder/venv/bin/python -m pip --quiet --disable-pip-version-check"
if ! $pip download --no-deps --dest "$folder" 'maturin>=1.9.4,<2' >"$folder/log" 2>&1; then
    echo "skipped: the package index is out of reach ($(tail -n 1 "$folder/log"))"
    exit 0
fi

$pip install . pytest numpy
$pip install pytest-xdist 'dask[distributed]' || echo "skipped: xdist and Dask are not to be had"
"$folder/venv/bin/python" -m pytest -q -p no:cacheprovider
if $pip install mypy; then
    "$folder/venv/bin/python" -m mypy --strict -p oriole_gpu
fi
