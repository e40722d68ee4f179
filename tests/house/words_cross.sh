# Stubs with words, here and of the other architecture, emulated: each call arrives with all its words, the status that nobody
# wants is ours, and functions that the library lacks are not there; floating-point arguments and results are kept.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
modules=$SOURCE/tests/trace/modules
stubs=$SOURCE/src/agent/stubs

build() { # compiler, name, arguments…
    local compiler=$1 name=$2
    shift 2
    $compiler -O1 -w -fPIC -fexceptions -D_GNU_SOURCE -iquote "$SOURCE/src" -o "$folder/$name" "$@" -Wl,-rpath,"$folder" -ldl || exit 1
}
check() { # compiler, how to run
    local compiler=$1
    shift
    build "$compiler" libtacho-mpi.so -shared -fvisibility=hidden -Wl,--version-script="$stubs/stub_hidden.map" "$stubs"/{,words/,mpi/}*.[cS] "$SOURCE"/src/agent/core/{elf_lookup,object_extent}.c
    build "$compiler" recorder.so -shared "$modules/words_recorder.c"
    build "$compiler" libmpi.so.40 -shared -Wl,-soname,libmpi.so.40 "$modules/words_standin.c"
    build "$compiler" caller "$modules/words_caller.c" "$folder/libmpi.so.40" "$folder/recorder.so"
    output=$("$@"="$folder/recorder.so:$folder/libtacho-mpi.so" "$folder/caller" "$folder/libmpi.so.40" 2>"$folder/log")
    [ "$output" = ok ] || complain "$compiler: the caller says: $output $(cat "$folder/log")"
    grep -qx "50 began, 26 ended, 0 wrong, status 9" "$folder/log" || complain "$compiler: the recorder says: $(cat "$folder/log")"
}
check_vectors() { # the same, for functions of OpenSHMEM with floating-point arguments and results
    local compiler=$1
    shift
    build "$compiler" libtacho-oshmem.so -shared -fvisibility=hidden -Wl,--version-script="$stubs/stub_hidden.map" "$stubs"/{,words/,oshmem/}*.[cS] "$SOURCE"/src/agent/core/elf_lookup.c
    build "$compiler" recorder.so -shared -DWORDS_OSHMEM "$modules/words_recorder.c"
    build "$compiler" liboshmem.so.40 -shared -Wl,-soname,liboshmem.so.40 "$modules/words_shmem_standin.c"
    build "$compiler" caller "$modules/words_shmem_caller.c" "$folder/liboshmem.so.40" "$folder/recorder.so"
    output=$("$@"="$folder/recorder.so:$folder/libtacho-oshmem.so" "$folder/caller" 2>"$folder/log")
    [ "$output" = ok ] || complain "$compiler: the caller of OpenSHMEM says: $output $(cat "$folder/log")"
    grep -qx "34 began, 17 ended, 0 wrong, status 0" "$folder/log" || complain "$compiler: the recorder of OpenSHMEM says: $(cat "$folder/log")"
}
check "$CC" env LD_PRELOAD
check_vectors "$CC" env LD_PRELOAD
[ $bad = 0 ] || exit $bad
need_other_architecture
check $other-linux-gnu-gcc qemu-$other -L /usr/$other-linux-gnu -E LD_PRELOAD
check_vectors $other-linux-gnu-gcc qemu-$other -L /usr/$other-linux-gnu -E LD_PRELOAD
exit $bad
