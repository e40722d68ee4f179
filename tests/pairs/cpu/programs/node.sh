#!/bin/sh
# node.sh: installs all npm packages of the set below $PLACE/node.
set -e
test -e "$PLACE/node/.ready" && exit
mkdir -p "$PLACE/node"
cp "$HERE/package.json" "$PLACE/node"
npm --prefix "$PLACE/node" install --silent --no-fund --no-audit
touch "$PLACE/node/.ready"
