#!/bin/sh
# debs.sh FOLDER PACKAGE…: unpacks Debian packages, and those that they need and the machine lacks, into FOLDER.
set -e
folder=$1
shift
test -e "$folder/.ready" && exit
mkdir -p "$folder/archives"
cd "$folder/archives"
apt-get install --no-install-recommends --simulate "$@" | sed -n 's/^Inst \([^ ]*\).*/\1/p' | xargs -r apt-get download -q
for archive in *.deb; do
    dpkg-deb --extract "$archive" "$folder"
done
touch "$folder/.ready"
