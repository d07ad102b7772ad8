#!/usr/bin/env bash
# Makes crates/oriole-c/include/oriole.h with cbindgen, which no build needs: the header is committed.
#
#   tools/c_header.sh           writes it
#   tools/c_header.sh --check   status 1 if it is not what cbindgen would make of the crate
#
# CBINDGEN names the program; else it is looked for on the path. Where there is none, --check says so and ends with 0.
set -euo pipefail
cd "$(dirname "$0")/../crates/oriole-c"

cbindgen=${CBINDGEN:-cbindgen}
if ! command -v "$cbindgen" >/dev/null; then
    if [ "${1:-}" = --check ]; then
        echo "skipped: no cbindgen (cargo install cbindgen --locked)"
        exit 0
    fi
    echo "no cbindgen: cargo install cbindgen --locked, or name it in CBINDGEN" >&2
    exit 1
fi

# The header is C89 and C++98 as well, but for <stdint.h>: no `//` and no comma behind the last name of an enum.
make_header() {
    "$cbindgen" --quiet --config cbindgen.toml --output "$1" .
    sed -i -z -e 's:  *// \(__cplusplus\|extern "C"\):  /* \1 */:g' -e 's|,\n}|\n}|g' "$1"
}

case "${1:-}" in
--check)
    made=$(mktemp)
    trap 'rm -f "$made"' EXIT
    make_header "$made"
    if ! diff -u include/oriole.h "$made"; then
        echo "include/oriole.h is old: tools/c_header.sh writes it" >&2
        exit 1
    fi
    ;;
"")
    make_header include/oriole.h
    ;;
*)
    echo "usage: tools/c_header.sh [--check]" >&2
    exit 2
    ;;
esac
