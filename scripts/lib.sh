# Shared by the scripts here: where downloaded and built parts live, and how a missing one is named.
# Everything goes to one cache outside the checkout, so that clones share it and `git clean` cannot lose it.
BUTLER_CACHE="${BUTLER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/butler}"

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# need COMMAND "how to install it"
need() {
  command -v "$1" >/dev/null 2>&1 || die "missing: $1; install it with: $2"
}
