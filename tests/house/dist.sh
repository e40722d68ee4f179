# The tarball of scripts/dist runs where it is unpacked, needs no library, and its program finds its own agent; the Debian package installs,
# works and leaves nothing behind; the sums are right, and a second run makes the same bytes. All is made of the build under test: that
# scripts/dist builds by itself is seen by dist_cross.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ "$ARCH" = "$(uname -m)" ] || skip "this build is for $ARCH"

case $ARCH in x86_64) debian=amd64 ;; aarch64) debian=arm64 ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$SOURCE/scripts/dist" --built "$(dirname "$TACHO")/.." >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
tar -C "$folder" -xzf "$SOURCE"/dist/tacho-*-"$ARCH".tar.gz || exit 1
home=$(echo "$folder"/tacho-*)

for file in README bin/tacho $(guests | sed "s|.*/|lib/tacho/|") lib/tacho/tacho-gpu lib/libtacho.so lib/pkgconfig/tacho.pc include/tacho/tacho.h share/tacho/LICENSE \
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

# The sums name each file, and a second run does not change them.
(cd "$SOURCE/dist" && sha256sum --quiet -c SHA256SUMS) || complain "the sums are wrong"
[ "$(grep -c -e "-$ARCH.tar.gz" -e "_$ARCH.whl" -e "_$debian.deb" "$SOURCE/dist/SHA256SUMS")" = 3 ] || complain "SHA256SUMS lacks a file: $(cat "$SOURCE/dist/SHA256SUMS")"
cp "$SOURCE/dist/SHA256SUMS" "$folder/sums"
"$SOURCE/scripts/dist" --built "$(dirname "$TACHO")/.." >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
diff "$folder/sums" "$SOURCE/dist/SHA256SUMS" || complain "the same build makes other files the second time"

# The Debian package, in a root of its own.
if command -v dpkg >/dev/null; then
    root=$folder/root
    deb=$(echo "$SOURCE"/dist/tacho_*_"$debian".deb)
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" && touch "$root/var/lib/dpkg/status"
    package() { dpkg --root="$root" --log="$folder/dpkg" --force-not-root --force-depends --force-script-chrootless "$@" >"$folder/log" 2>&1 || complain "dpkg $1: $(cat "$folder/log")"; }
    package --install "$deb"
    "$root/usr/bin/tacho" doctor >"$folder/log" 2>&1 || complain "tacho doctor of the package: $(cat "$folder/log")"
    "$root/usr/bin/tacho" profile -f true -o "$folder/report" true >"$folder/log" 2>&1 || complain "tacho profile of the package: $(cat "$folder/log")"
    PYTHONPATH=$root/usr/lib/python3/dist-packages env -u PYTHONDONTWRITEBYTECODE -u PYTHONPYCACHEPREFIX python3 -c "import tacho; tacho.Report('$folder/report.tacho')" || complain "Python does not find the package"
    [ -n "$(find "$root" -name __pycache__)" ] || complain "Python left no compiled files, so their removal is not tested"
    package --purge tacho
    find "$root/usr" ! -type d -print -quit 2>/dev/null | grep . && complain "the package leaves files behind"
    ! command -v lintian >/dev/null || lintian --allow-root --fail-on error,warning "$deb" || complain "lintian complains"
fi
exit $bad
