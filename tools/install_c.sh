#!/usr/bin/env bash
# Builds the C library and installs it with its header and its pkg-config file (Linux).
#
#   tools/install_c.sh PREFIX     such as /usr/local; DESTDIR is put before it, for packages
#
# Cargo calls the libraries liboriole_c.so and liboriole_c.a, as the folder has a Rust library `oriole` already. Panics
# unwind in this build, other than in the workspace's release profile: the library answers ORIOLE_ERROR_INTERNAL to them.
set -euo pipefail

if [ $# -ne 1 ] || [ "${1#/}" = "$1" ]; then
    echo "usage: tools/install_c.sh PREFIX (an absolute path)" >&2
    exit 2
fi
prefix=${1%/}
cd "$(dirname "$0")/.."

id=$(cargo pkgid --locked -p oriole-c)
version=${id##*[#@]}
# Releases of 0.N differ in what programs are linked to; from 1.0 on only the first number says it.
case $version in
0.*) abi=${version%.*} ;;
*) abi=${version%%.*} ;;
esac

target=${CARGO_TARGET_DIR:-target}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo rustc --locked --release -p oriole-c --lib --crate-type cdylib,staticlib \
    --config 'profile.release.panic="unwind"' --color never \
    -- -C "link-arg=-Wl,-soname,liboriole.so.$abi" --print native-static-libs 2>&1 | tee "$log" >&2
# What a program needs besides that takes the static library. Cargo shows it again when there is nothing to build.
# Not libgcc_s, which is shared alone and breaks `cc -static`: every compiler adds its own unwinder, shared or static.
private=$(sed -n 's/^note: native-static-libs: //p' "$log" | tail -n 1 | sed -e 's/ *-lgcc_s\b//g' -e 's/^ *//')

root=${DESTDIR:-}$prefix
install -d "$root/include" "$root/lib/pkgconfig"
install -m 644 crates/oriole-c/include/oriole.h "$root/include/oriole.h"
install -m 644 "$target/release/liboriole_c.a" "$root/lib/liboriole.a"
install -m 755 "$target/release/liboriole_c.so" "$root/lib/liboriole.so.$version"
ln -sf "liboriole.so.$version" "$root/lib/liboriole.so.$abi"
ln -sf "liboriole.so.$abi" "$root/lib/liboriole.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "s|@LIBS_PRIVATE@|$private|" \
    crates/oriole-c/oriole.pc.in >"$root/lib/pkgconfig/oriole.pc"
echo "installed $version under $root"
