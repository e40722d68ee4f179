# cmake/glibc-2.28.symbols against the truth at hand: each version in it must be one under which this machine's glibc
# still offers the symbol, none may be newer than 2.28, and what moved into libc after 2.28 must not be placed there.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case $ARCH in
x86_64) column=3 ;;
aarch64) column=4 ;;
*) skip "the table has no column for $ARCH" ;;
esac

offered=$(for library in $(awk '!/^#/ && NF { print $2 }' "$table" | sort -u); do
    path=$("$CC" -print-file-name="$library")
    [ -e "$path" ] && "$READELF" -W --dyn-syms "$path" | awk '$7 != "UND" && $8 ~ /@/ { print $8 }'
done)
[ -n "$offered" ] || skip "the C library is not glibc"

awk -v column="$column" '
    NR == FNR { gsub(/@+/, " "); split($0, part); offered[part[1], part[2]] = 1; versions[part[1]] = versions[part[1]] " " part[2]; next }
    function newer(version, number) { split(substr(version, 7), number, "."); return number[1] > 2 || number[2] > 28 }
    /^#/ || !NF || $column == "-" { next }
    { rows++ }
    seen[$1]++ { print $1 " stands twice in the table"; bad = 1 }
    newer($column) { print $1 ": " $column " is newer than 2.28"; bad = 1 }
    !(($1, $column) in offered) { print $1 ": this glibc does not offer it as " $column ", but as" versions[$1]; bad = 1 }
    $2 == "libc.so.6" && $1 != "__libc_start_main" { # that one was always in libc, and got a second version
        count = split(versions[$1], list, " ")
        for (i = 1; i <= count; i++)
            if (newer(list[i])) { print $1 ": came to libc with " list[i] ", so 2.28 had it elsewhere"; bad = 1 }
    }
    END { if (rows < 100) { print "only " rows " rows read"; bad = 1 } exit bad }' <(echo "$offered") "$table" || bad=1
exit $bad
