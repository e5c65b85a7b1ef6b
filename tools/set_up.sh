#!/bin/sh
# Makes .venv with the locked dependencies and this package in editable mode. Does nothing where that is done.
# PYTHON chooses the interpreter; by default the first suitable one of python3, python3.13, python3.12, python3.11.
set -eu
cd "$(dirname "$0")/.."
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

dependencies_stamp=.venv/dependencies-are-installed
package_stamp=.venv/package-is-installed

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

version_of() {
    "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null
}

is_supported() {
    case $(version_of "$1") in 3.11.* | 3.12.* | 3.13.*) return 0 ;; *) return 1 ;; esac
}

makes_venvs() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

# Sets $python, or says why there is none.
choose_python() {
    candidates=${PYTHON:-python3 python3.13 python3.12 python3.11}
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- $candidates; fi
    without_venv=
    for python in "$@"; do
        if is_supported "$python"; then
            if makes_venvs "$python"; then return 0; fi
            without_venv=${without_venv:-$python}
        fi
    done
    if [ -n "$without_venv" ]; then
        package=python3-venv
        case $without_venv in *python3.*) package=python$(version_of "$without_venv" | cut -d. -f1,2)-venv ;; esac
        fail "$without_venv cannot make virtual environments: its venv module is not installed." \
            "On Debian and Ubuntu: sudo apt install $package"
    fi
    found=$(version_of "$1") && found="$1 is Python $found" || found="$1 does not run"
    fail "This project needs Python 3.11, 3.12 or 3.13, but $found." \
        "Choose another interpreter like this: make PYTHON=python3.12 run"
}

# What the installed dependencies depend on. A venv does not survive that its folder is moved.
dependencies_key() {
    { pwd; cat requirements.lock; } | cksum
}

# What the installed package depends on: its metadata, and which top-level packages there are.
package_key() {
    { cat setup.py setup.cfg pyproject.toml package.xml requirements*.txt; ls -d ./*/__init__.py; } | cksum
}

is_done() { # stamp, key
    [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

# A stamp is written last and in one go, so an interrupted set-up has none and is done again.
mark_done() { # stamp, key
    printf '%s\n' "$2" >"$1.new"
    mv "$1.new" "$1"
}

has_chosen_python() {
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of .venv/bin/python)" ]
}

key=$(dependencies_key)
if ! { is_done "$dependencies_stamp" "$key" && has_chosen_python && .venv/bin/python -c ''; }; then
    choose_python
    echo "Set-up 1/3: making .venv with Python $(version_of "$python")"
    rm -rf .venv
    "$python" -m venv .venv
    echo "Set-up 2/3: installing $(grep -c == requirements.lock) packages into it; the first time takes a minute or two"
    .venv/bin/python -m pip install --quiet --no-deps -r requirements.lock
    mark_done "$dependencies_stamp" "$key"
fi

key=$(package_key)
if ! is_done "$package_stamp" "$key"; then
    echo "Set-up 3/3: installing this package in editable mode"
    .venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
    mark_done "$package_stamp" "$key"
fi
