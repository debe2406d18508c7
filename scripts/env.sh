#!/bin/sh
# One step of setting up .venv, with uv when it is on PATH and Python's own venv and pip otherwise.
#
#     scripts/env.sh core | dev | extras     install requirements/<name>.txt, hashes checked
#     scripts/env.sh project                 install this checkout and the packages in plugins/, editable
#     scripts/env.sh torch | chromium        install these if they can be had; status 1 if not, which make ignores
set -eu
cd "$(dirname "$0")/.."
py=.venv/bin/python

say() { printf '%s\n' "reluflow: $*"; }
have() { command -v "$1" >/dev/null 2>&1; }
recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        if recent "$PYTHON"; then
            echo "$PYTHON"
            return
        fi
        say "PYTHON=$PYTHON is not Python 3.11 or newer: name another one, or leave it out." >&2
        exit 1
    fi
    for name in python3 python3.13 python3.12 python3.11 python; do
        if recent "$name"; then
            echo "$name"
            return
        fi
    done
    say "Python 3.11 or newer is needed and none is on PATH: install one, or name it with \`make PYTHON=/path/to/python\`." >&2
    exit 1
}

make_venv() {
    if [ -x $py ] && recent $py; then return; fi
    base=$(find_python)
    say "making .venv with $("$base" --version)"
    rm -rf .venv
    if have uv && uv venv --quiet --python "$(command -v "$base")" .venv; then return; fi
    "$base" -m venv .venv || {
        rm -rf .venv
        say "this Python cannot make virtual environments: install its venv module (Debian: python3-venv), or put uv on PATH." >&2
        exit 1
    }
}

with_pip() {
    $py -m pip --version >/dev/null 2>&1 || $py -m ensurepip >/dev/null
    # -qq: errors only.
    $py -m pip --disable-pip-version-check install -qq "$@"
}

install() {
    if have uv; then
        if uv pip install --quiet --python $py "$@"; then return; fi
        say "uv could not install that; trying pip"
    fi
    with_pip "$@"
}

case "$1" in
core)
    make_venv
    say "installing the core packages (a minute or two, once)"
    install --require-hashes -r requirements/core.txt
    ;;
dev)
    say "installing the test tools"
    install --require-hashes -r requirements/dev.txt
    ;;
extras)
    say "installing the optional packages"
    install --require-hashes -r requirements/extras.txt
    ;;
project)
    say "installing reluflow itself and the packages in plugins/"
    set -- -e .
    for pack in plugins/*/pyproject.toml; do
        if [ -f "$pack" ]; then set -- "$@" -e "${pack%/pyproject.toml}"; fi
    done
    install --no-deps --no-build-isolation "$@"
    ;;
torch)
    # Always pip: uv does not read pip's settings, where a machine may keep its own build of torch.
    say "installing torch"
    with_pip -r requirements/torch.txt || {
        say "torch could not be had: the tests that need it will be skipped"
        exit 1
    }
    ;;
chromium)
    if have chromium || ! have apt-get || [ "$(id -u)" != 0 ]; then exit 0; fi
    say "installing Chromium for the browser tests"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || {
        say "Chromium could not be had: the browser tests will be skipped"
        exit 1
    }
    ;;
*)
    say "\`$1\` is no step of the set-up: use core, dev, extras, project, torch or chromium." >&2
    exit 2
    ;;
esac
