# shellcheck shell=bash
# Sourced by the other scripts: stops at the first error, changes to the root of the repository, and
# defines functions for messages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints a heading with the time since the script began, so that a reader finds the steps in a long
# log.
step() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# Prints a warning that stands out in a long log.
loud() {
    local line
    printf '\n%s\n' '!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!' >&2
    for line in "$@"; do printf '!!  %s\n' "$line" >&2; done
    printf '%s\n\n' '!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!' >&2
}

die() { loud "$@"; exit 1; }

# Prints a free port for a server that cannot choose one itself. The kernel gives ports above 32767
# to other programs, and so none of these.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# `at_least 1.94.1 1.95.0` holds when the second version is the first or newer.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# `install_package chromium "Chromium for ..."` installs a Debian package, if this user may.
install_package() {
    local as_root=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
    echo "Installing $2"
    "${as_root[@]}" apt-get update -qq && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "$1" >/dev/null
}

# `beside NAME COMMAND [ARGUMENT...]` runs a command beside those that follow; its output is kept
# for `end_beside`. At the script's end it is stopped.
beside_names=() beside_pids=() beside_logs=
beside() {
    [ -n "$beside_logs" ] || beside_logs=$(mktemp -d)
    trap stop_beside EXIT
    # Job control gives each its own process group.
    set -m
    "${@:2}" </dev/null >"$beside_logs/${#beside_names[@]}" 2>&1 &
    set +m
    beside_names+=("$1")
    beside_pids+=($!)
}
stop_beside() {
    local pid
    for pid in ${beside_pids[@]+"${beside_pids[@]}"}; do kill -- "-$pid" 2>/dev/null || true; done
    rm -rf "$beside_logs"
}
# Waits for the commands beside, prints their output, and fails if one failed.
end_beside() {
    local index failed=()
    for index in "${!beside_names[@]}"; do
        step "Output of ${beside_names[$index]}, which ran beside the steps above"
        wait "${beside_pids[$index]}" || failed+=("${beside_names[$index]}")
        cat "$beside_logs/$index"
    done
    beside_names=() beside_pids=()
    [ ${#failed[@]} -eq 0 ] || die "Failed, see above:" "${failed[@]}"
}
