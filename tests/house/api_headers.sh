# The public headers stand alone: each compiles by itself, as strict C and as C++, without a warning.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

warnings="-Wall -Wextra -Wshadow -pedantic -Werror -fsyntax-only"
command -v g++ >/dev/null || skip "g++ is not installed"
for header in "$SOURCE"/include/tacho/*.h; do
    name=tacho/$(basename "$header")
    for language in "gcc -x c -std=c99" "gcc -x c -std=c11 -Wstrict-prototypes -Wmissing-prototypes" "g++ -x c++ -std=c++11 -Wold-style-cast" "g++ -x c++ -std=c++20"; do
        echo "#include <$name>" | $language $warnings -I"$SOURCE/include" - || complain "<$name> does not compile with $language"
    done
done
exit $bad
