#!/bin/sh
# venv.sh: installs all Python packages of the set into $PLACE/venv.
set -e
test -e "$PLACE/venv/.ready" && exit
test -x "$PLACE/venv/bin/python" || python3 -m venv "$PLACE/venv"
"$PLACE/venv/bin/pip" install --quiet --requirement "$HERE/requirements.txt"
touch "$PLACE/venv/.ready"
