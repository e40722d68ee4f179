# symbols_seeds.sh FOLDER: small ELF files for the fuzzer of ELF and call frame information to begin with.
set -euo pipefail
folder=$1
source=$folder.c
cat >"$source" <<'END'
int puts(const char *);
__attribute__((noinline)) int inner(int n) { char room[n + 1]; room[n] = 1; puts("x"); return room[n]; }
int main(int argc, char **argv) { _Alignas(64) volatile char room[128]; room[0] = 1; return inner(argc) + room[0]; }
END
cc -O2 -Wl,-z,norelro -Wl,-z,noseparate-code -o "$folder/plain" "$source"
cc -O2 -g1 -gz=zlib -Wl,-z,noseparate-code -o "$folder/zlib" "$source"
cc -O2 -fno-asynchronous-unwind-tables -gdwarf-4 -Wl,-z,noseparate-code -o "$folder/debug_frame" "$source"
cc -O2 -shared -fPIC -Wl,-z,noseparate-code -Wl,--no-eh-frame-hdr -o "$folder/shared" "$source"
strip -o "$folder/stripped" "$folder/plain"
nm "$folder/plain" >/dev/null && objcopy --only-keep-debug "$folder/plain" "$folder/only_debug"
if command -v xz >/dev/null; then # as distributions pack symbols
    xz -c "$folder/only_debug" >"$folder.xz"
    objcopy --add-section .gnu_debugdata="$folder.xz" "$folder/stripped" "$folder/packed"
fi
rm -f "$source" "$folder.xz"
