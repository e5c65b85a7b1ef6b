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
frozen=$("$folder/venv/bin/python" -m pip freeze --all --exclude pip)
# A wheel of ROS such as ros-std-msgs unpacks a second distribution, std_msgs, that no index has.
inner=$(printf '%s\n' "$frozen" | sed -n 's/^ros-\([^=]*\)==.*/\1/p' | sed 's/-/[-_]/g; s/.*/^&==/')
# Data of robots that the wheel of crocoddyl asks for, without which it runs as well.
unused='^example-robot-data=='
{
    echo "# Everything that \`make\` installs, exactly. Made by \`make lock\` out of requirements-test.txt; do not edit."
    printf '%s\n' "$frozen" | grep -v "$inner" | grep -v "$unused" | LC_ALL=C sort --ignore-case
} >"$folder/requirements.lock"
mv "$folder/requirements.lock" requirements.lock
