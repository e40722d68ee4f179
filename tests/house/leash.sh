#!/usr/bin/env bash
# A test ends with its status, its limit or a signal, and all processes that it started end with it (tests/leash.c).
set -euo pipefail
leash=$(dirname "$FAKE")/leash

fail() { printf 'leash.sh: %s\n' "$*" >&2; exit 1; }
expect_status() { # WANTED COMMAND…
    local wanted=$1 status=0
    shift
    "$@" || status=$?
    [ "$status" = "$wanted" ] || fail "'$*' ended with $status, not with $wanted"
}
expect_ended() { # FILE: holds the number of a process
    ! kill -0 "$(cat "$1")" 2>/dev/null || fail "process $(cat "$1") of $1 outlived its test"
}

expect_status 0 "$leash" 100 true
expect_status 3 "$leash" 100 sh -c 'exit 3'
expect_status 143 "$leash" 100 sh -c 'kill -TERM $$'
expect_status 126 "$leash" 100 ./there-is-no-such-program

expect_status 0 "$leash" 100 sh -c 'setsid sleep 1000 & echo $! >orphan'
expect_ended orphan
expect_status 124 "$leash" 0.1 sh -c 'sleep 1000 & echo $! >late; wait'
expect_ended late

rm -f interrupted
"$leash" 100 sh -c 'sleep 1000 & echo $! >new && mv new interrupted; wait' &
until [ -e interrupted ]; do sleep 0.01; done
kill -TERM $!
expect_status 124 wait $!
expect_ended interrupted
