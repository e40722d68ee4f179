# libtacho.so shows what the public headers declare, all of it, and nothing of what is inside.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -e "$LIBTACHO" ] || { complain "$LIBTACHO was not built"; exit 1; }

exported=$("$NM" -D --defined-only "$LIBTACHO" | awk '{ print $3 }' | sort)

# Declarations end with ';' outside of braces. Those of functions, and of objects that are "extern", must be exported;
# static inline functions have a body and so are no declarations.
declared=$(cat "$SOURCE"/include/tacho/*.h | "$CC" -E -P -x c -I"$SOURCE/include" - | tr '\n' ' ' | awk '{
    for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1)
        if (c == "{") depth++
        if (depth == 0) statement = statement c
        if (c == "}" && --depth == 0 && statement ~ /\)[ ]*$/) statement = "" # the end of a function
        if (c == ";" && depth == 0) { print statement; statement = "" }
    }
}' | grep -vE '^ *(typedef|static)' | sed -nE 's/.*[ *](tacho_[a-z0-9_]+) *\(.*/\1/p; t; s/^ *extern .*[ *](tacho_[a-z0-9_]+) *;.*/\1/p' | sort -u)

[ -n "$declared" ] || complain "no declaration was found: the check itself is broken"
comm -23 <(echo "$declared") <(echo "$exported") | sed 's/$/ is in a public header, but not exported/' | grep . && bad=1
comm -13 <(echo "$declared") <(echo "$exported") | sed 's/$/ is exported, but in no public header/' | grep . && bad=1
exit $bad
