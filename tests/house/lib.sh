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
# recent PATTERN: the files with such a path that the last commits changed or that are not committed yet, with scripts/test --all all
# files; each ends with a zero byte.
recent() {
    if [ "${TACHO_TEST_ALL:-0}" = 0 ] && git rev-parse -q --verify HEAD~20 >/dev/null 2>&1; then
        { git diff -z --name-only --diff-filter=d HEAD~20 && git ls-files -z --others --exclude-standard; } | grep -zE "$1"
    else
        find * -type f -print0 | grep -zE "$1"
    fi
}
# Sets $other to the architecture that this machine can build for and emulate.
need_other_architecture() {
    case $(uname -m) in
    x86_64) other=aarch64 ;;
    aarch64) other=x86_64 ;;
    *) skip "there is no cross-compiler for this machine" ;;
    esac
    command -v $other-linux-gnu-gcc >/dev/null || skip "$other-linux-gnu-gcc is not installed"
    command -v qemu-$other >/dev/null || skip "qemu-$other (package qemu-user) is not installed"
}
# Complains of what of the timeline page is missing in an installed tree, where the tools that build it are here.
need_page_in() {
    local file
    command -v npm >/dev/null && command -v clang >/dev/null && command -v wasm-ld >/dev/null || return 0
    for file in index.html page.js page.css tacho.wasm tacho.wasm.gz; do
        [ -e "$1/share/tacho/view/$file" ] || complain "the tarball lacks $file of the timeline page"
    done
}
# The libraries that are loaded into programs: the agent, and the objects of stubs beside it.
guests() {
    echo "$AGENT"
    ls "$(dirname "$AGENT")"/libtacho-*.so | grep -vxF "$AGENT"
}
table=$SOURCE/cmake/glibc-2.28.symbols

# "symbol library version" for every versioned symbol that a shared library imports.
imports() {
    { "$READELF" -WV "$1" && "$READELF" -W --dyn-syms "$1"; } | awk '
        / File: / { for (i = 1; i < NF; i++) if ($i == "File:") file = $(i + 1) }
        / Flags: / { name = ""; for (i = 1; i < NF; i++) { if ($i == "Name:") name = $(i + 1); if ($i == "Version:") { library[$(i + 1)] = file; version[$(i + 1)] = name } } }
        / UND [^ ]+@/ { split($8, part, "@+"); gsub(/[()]/, "", $9); print part[1], library[$9], version[$9] }'
}
