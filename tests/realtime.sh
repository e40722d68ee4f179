#!/usr/bin/env bash
# realtime.sh COMMAND…: runs a test whose outcome depends on how busy the machine is, and runs it once more if it fails. The
# retry is printed as "retried: <why>", which scripts/test prints again at its end. The tests that run this way: tests/realtime.txt.
"$@"
status=$?
case $status in
0 | 77) exit $status ;;
esac
echo "retried: the first run ended with status $status"
exec "$@"
