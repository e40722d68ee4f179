# The tarball of scripts/dist runs where it is unpacked, needs no library, and its program finds its own agent. It is made of the
# build under test: that scripts/dist builds by itself is seen by dist_cross.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ "$ARCH" = "$(uname -m)" ] || skip "this build is for $ARCH"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$SOURCE/scripts/dist" --built "$(dirname "$TACHO")/.." >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
tar -C "$folder" -xzf "$SOURCE"/dist/tacho-*-"$ARCH".tar.gz || exit 1
home=$(echo "$folder"/tacho-*)

for file in README bin/tacho lib/tacho/libtacho-agent.so lib/tacho/libtacho-libraries.so lib/libtacho.so lib/pkgconfig/tacho.pc include/tacho/tacho.h share/tacho/LICENSE \
    share/tacho/NOTICE share/tacho/README.md share/tacho/docs/api.md share/bash-completion/completions/tacho share/zsh/site-functions/_tacho \
    share/fish/vendor_completions.d/tacho.fish share/man/man1/tacho.1 share/man/man1/tacho-profile.1; do
    [ -e "$home/$file" ] || complain "the tarball lacks $file"
done
[ -e "$SOURCE/dist/$(basename "$home" "-$ARCH")-py3-none-manylinux_2_28_$ARCH.whl" ] || complain "there is no wheel beside the tarball"
need_page_in "$home"
"$READELF" -Wl "$home/bin/tacho" | grep -q INTERP && complain "tacho asks for a dynamic loader"
grep -rlIE "$SOURCE" "$home" && complain "the files above name the folder that the tarball was built in"

# A program that says which agent it runs with.
cd "$folder" || exit 1
output=$(env -i PATH=/usr/bin:/bin "$home/bin/tacho" profile -o "$folder/report" grep -c 'libtacho-agent.so' /proc/self/maps 2>"$folder/log")
[ "${output:-0}" -gt 0 ] || complain "the program ran without the agent: '$output'; $(cat "$folder/log")"
"$home/bin/tacho" info "$folder/report.tacho" >"$folder/log" 2>&1 || complain "tacho info failed: $(cat "$folder/log")"
exit $bad
