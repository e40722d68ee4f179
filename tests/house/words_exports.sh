# Objects whose stubs hand the words of a call to the agent export the functions of their tables, dlsym and tacho_stub_of,
# and nothing else. The functions are sorted: dlsym() finds one by halving.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check() { # object, functions
    local library names exported
    library=$(dirname "$AGENT")/libtacho-$1.so
    names=$2
    [ -e "$library" ] || { complain "$library was not built"; return; }
    LC_ALL=C sort -uc <<<"$names" || complain "the functions of $1 are not sorted, or one is there twice"
    exported=$("$NM" -D --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort)
    diff <(printf '%s\ndlsym\ntacho_stub_of\n' "$names" | LC_ALL=C sort) <(echo "$exported") | grep '^[<>]' |
        sed "s/^</$1 should export, but does not:/; s/^>/$1 exports without a reason:/" | grep . && bad=1
}

# The names of a table, after a macro has put a prefix before them.
names_of() { # table, macro [, prefix]
    printf '#define %s(name, ...) %sname\n#include "%s/src/wire/%s"\n' "$2" "${3:+$3##}" "$SOURCE" "$1" | "$CC" -E -P -x c - |
        tr -s ' ' '\n' | grep . # a row of the table can stand for several functions
}
mpi=$(names_of mpi_calls.def MPI_CALL MPI_ && names_of mpi_calls.def MPI_CALL PMPI_)
[ "$(wc -l <<<"$mpi")" -ge 1000 ] || complain "only $(wc -l <<<"$mpi") functions of MPI: the check itself is broken"
check mpi "$mpi"
openmp=$(names_of gomp_functions.def GOMP_CALL)
[ "$(wc -l <<<"$openmp")" -ge 90 ] || complain "only $(wc -l <<<"$openmp") functions of libgomp: the check itself is broken"
check openmp "$openmp"$'\nompt_start_tool' # OMPT's runtimes look for it
ucx=$(names_of ucx_calls.def UCX)
[ "$(wc -l <<<"$ucx")" -ge 90 ] || complain "only $(wc -l <<<"$ucx") functions of UCX: the check itself is broken"
check ucx "$ucx"
oshmem=$(names_of oshmem_calls.def OSHMEM)
[ "$(wc -l <<<"$oshmem")" -ge 1000 ] || complain "only $(wc -l <<<"$oshmem") functions of OpenSHMEM: the check itself is broken"
check oshmem "$oshmem"
# A version that dlsym() does not see: a program that looks for MPI must not find it where there is none.
for object in mpi ucx oshmem; do
    visible=$("$READELF" -W --dyn-syms "$(dirname "$AGENT")/libtacho-$object.so" |
        awk '$7 != "UND" && $8 ~ /^(P?MPI_|ucp_|p?shmem)/ && $8 !~ /[^@]@TACHO$/ { print $8 }')
    [ -z "$visible" ] || complain "dlsym() sees $(head -n 3 <<<"$visible" | tr '\n' ' ')…"
done
exit $bad
