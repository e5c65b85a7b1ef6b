#!/bin/sh
# Resolves requirements-test.txt into requirements.lock. Run it with the oldest supported Python, so that the
# versions found exist for all: make lock PYTHON=python3.11
set -eu
cd "$(dirname "$0")/.."
setuptools=84.2.1 # builds the package; venvs of Python 3.12 and later have none

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet -r requirements-test.txt "setuptools==$setuptools"
{
    echo "# Everything that \`make\` installs, exactly. Made by \`make lock\` out of requirements-test.txt; do not edit."
    "$folder/venv/bin/python" -m pip freeze --all --exclude pip | LC_ALL=C sort --ignore-case
} >"$folder/requirements.lock"
mv "$folder/requirements.lock" requirements.lock
