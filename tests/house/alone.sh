# Each file of the modules compiles alone, with all warnings: the gate compiles many at once (TACHO_DRAFT), where one may have what another
# includes. The gate looks at the files of the last commits, scripts/test --all and scripts/build compile all of them alone.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$SOURCE" || exit 1

modules=$(sed -n 's/^tacho_modules(\(.*\))$/\1/p' CMakeLists.txt)
[ -n "$modules" ] || complain "CMakeLists.txt names no modules: the check itself is broken"
warnings="-Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wno-unused-parameter -Werror"
said=$(recent "^src/(${modules// /|})/.*[.]c$" | xargs -0 -r -P2 -n 20 "$CC" -fsyntax-only -std=gnu11 -D_GNU_SOURCE \
    -DTACHO_VERSION='""' -Iinclude -iquote src $warnings 2>&1)
[ -z "$said" ] || complain "$said"
exit $bad
