# shellcheck shell=bash
# Sourced by the other scripts: stops at the first error, starts at the root of the repository, and speaks up.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A heading before each step, so that a long log can be skimmed.
step() { printf '\n== %s\n' "$*"; }

# Something did not happen that the reader may take for granted. It must not drown in the log.
loud() {
    local line
    printf '\n%s\n' '!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!' >&2
    for line in "$@"; do printf '!!  %s\n' "$line" >&2; done
    printf '%s\n\n' '!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!' >&2
}

die() { loud "$@"; exit 1; }

# `at_least 1.94.1 1.95.0` holds when the second version is the first or newer.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }
