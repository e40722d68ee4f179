# Shared by the checks on the house: complaints are collected, so that one run shows them all.
bad=0
complain() {
    echo "$*"
    bad=1
}
skip() {
    echo "skipped: $*"
    exit 77
}
table=$SOURCE/cmake/glibc-2.28.symbols

# "symbol library version" for every versioned symbol that a shared library imports.
imports() {
    { "$READELF" -WV "$1" && "$READELF" -W --dyn-syms "$1"; } | awk '
        / File: / { for (i = 1; i < NF; i++) if ($i == "File:") file = $(i + 1) }
        / Flags: / { name = ""; for (i = 1; i < NF; i++) { if ($i == "Name:") name = $(i + 1); if ($i == "Version:") { library[$(i + 1)] = file; version[$(i + 1)] = name } } }
        / UND [^ ]+@/ { split($8, part, "@+"); gsub(/[()]/, "", $9); print part[1], library[$9], version[$9] }'
}
