#!/bin/sh
# make_venv.sh VENV EXTRA [PYTHON]: makes the virtualenv when it is missing or broken, installs this checkout with EXTRA into
# it, and leaves the stamp VENV/EXTRA. An interrupted run leaves no stamp, and the next one goes on from there.
set -eu
venv=$1 extra=$2 wanted=${3:-}

usable() {  # 3.11 or newer, and able to make a virtualenv with pip
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for name in ${wanted:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
        if usable "$name"; then echo "$name"; return; fi
    done
    {
        if [ -n "$wanted" ]; then
            echo "error: PYTHON=$wanted cannot be used: Veraz needs Python 3.11 or newer with the modules venv and ensurepip"
        else
            echo "error: Veraz needs Python 3.11 or newer with the modules venv and ensurepip"
        fi
        for name in ${wanted:-python3 python3.13 python3.12 python3.11}; do
            if command -v "$name" >/dev/null 2>&1; then
                echo "  found: $name, $("$name" --version 2>&1 | head -n 1)"
            fi
        done
        echo "  fix: install Python 3.11 or newer (Debian and Ubuntu: apt-get install python3 python3-venv),"
        echo "       or name one: make demo PYTHON=/path/to/python3.12"
    } >&2
    exit 2
}

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    echo "making a virtualenv in $venv with $("$python" --version)" >&2
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi

echo "installing veraz[$extra] into $venv: once, and again when pyproject.toml changes" >&2
if ! "$venv/bin/python" -m pip install --quiet --editable ".[$extra]"; then
    echo "error: the installation failed; see above" >&2
    echo "  fix: check that a package index can be reached (pip config list), then run make again" >&2
    exit 3
fi
touch "$venv/$extra"
if [ "$extra" = test ]; then touch "$venv/local"; fi  # test includes local
