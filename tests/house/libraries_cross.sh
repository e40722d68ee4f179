# The stubs of the other architecture, emulated: the callers and stand-ins of tests/trace/libraries.py, with a recorder in the
# agent's place that spoils every register it may.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_other_architecture

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
modules=$SOURCE/tests/trace/modules
build() { # name, arguments…: into the folder
    local name=$1
    shift
    $other-linux-gnu-gcc -O1 -w -fPIC -fexceptions -D_GNU_SOURCE -iquote "$SOURCE/src" -o "$folder/$name" "$@" -Wl,-rpath,"$folder" -ldl -lpthread || exit 1
}
build libtacho-libraries.so -shared -fvisibility=hidden "$SOURCE"/src/agent/stubs/{,libraries/}*.c "$SOURCE"/src/agent/core/{elf_lookup,object_extent}.c "$SOURCE"/src/agent/stubs/{,libraries/}*.S
build recorder.so -shared "$modules/library_recorder.c"
build libcublas.so.12 -shared -Wl,-soname,libcublas.so.12 '-DCUBLAS="12"' "$modules/library_standin.c"
build libcusparse.so.12 -shared -Wl,-soname,libcusparse.so.12 -DCUSPARSE "$modules/library_standin.c"
build libcusolver.so.12 -shared -Wl,-soname,libcusolver.so.12 -DCUSOLVER "$modules/library_standin.c" "$folder/libcublas.so.12"
build libcudnn.so.9 -shared -Wl,-soname,libcudnn.so.9 -DCUDNN "$modules/library_standin.c" "$folder/libcublas.so.12"
build module.so -shared "$modules/library_module.c" "$folder/libcudnn.so.9"
build caller "$modules/library_caller.c" "$folder/libcublas.so.12" "$folder/libcusparse.so.12" "$folder/libcusolver.so.12"

run() { # what the caller is to do, how many calls begin and end
    local expected="$2 began, $3 ended"
    output=$(qemu-$other -L /usr/$other-linux-gnu -E LD_PRELOAD="$folder/recorder.so:$folder/libtacho-libraries.so" "$folder/caller" $1 2>"$folder/log")
    [ "$(tail -n 1 <<<"$output")" = ok ] || complain "caller $1 says: $output $(cat "$folder/log")"
    grep -qx "$expected" "$folder/log" || complain "caller $1: not '$expected', but '$(cat "$folder/log")'"
}
calls=23
[ $other = x86_64 ] && calls='\(23\|27\|31\)' # some more with wide vectors, where the emulated machine has them
run all "$calls" "$calls"
run pages 4032 4032
run edge 2 2
run threads 4000 4000
run jump 42 2
run fork 2 2
run missing 0 0
run "load $folder/module.so" 2 2
run "symbol $folder/libcublas.so.12" 1 1
run "nested 40" 40 40
exit $bad
