#!/bin/sh
# history.sh FOLDER: makes a bare git repository with 400 commits of 60 text files.
set -e
test -e "$1/.ready" && exit
rm -rf "$1"
git -c init.defaultBranch=main init --quiet --bare "$1"
python3 "$HERE/history.py" | git -C "$1" fast-import --quiet
touch "$1/.ready"
