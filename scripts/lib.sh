# Shared by the scripts here: where downloaded and built parts live, and how a missing one is named.
# Everything goes to one cache outside the checkout, so that clones share it and `git clean` cannot lose it.
export BUTLER_CACHE="${BUTLER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/butler}"

INSTALL_RUST="curl -sSf https://sh.rustup.rs | sh -s -- -y"

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# need COMMAND "how to install it"
need() {
  command -v "$1" >/dev/null 2>&1 || die "missing: $1; install it with: $2"
}

# packages COMMAND-OR-FILE:PACKAGE...: Debian packages of what is not there, installed where that is possible. Prints what stays missing.
packages() {
  local pair missing=()
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || [ -x "${pair%%:*}" ] || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing ${missing[*]}"
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}")
    # A fresh machine has no list of packages yet.
    "${install[@]}" >/dev/null 2>&1 || { apt-get update -qq >/dev/null 2>&1 && "${install[@]}" >/dev/null 2>&1; } && return 0
  fi
  echo "${missing[*]}"
}

# What it takes to compile Butler: cargo of the version Cargo.toml asks for, and a C compiler (for aws-lc, the cryptography).
need_rust() {
  need cargo "$INSTALL_RUST"
  local wanted found
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  found=$(cargo --version | awk '{ print $2 }')
  [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -1)" = "$wanted" ] ||
    die "too old: cargo $found, Butler needs $wanted; install it with: $INSTALL_RUST (or: rustup update stable)"
  command -v "${CC:-cc}" >/dev/null 2>&1 || die "missing: a C compiler; install it with: apt-get install -y gcc libc6-dev"
}

# Where cargo puts what it builds.
target_directory() {
  cargo metadata --locked --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/'
}
