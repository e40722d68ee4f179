# npm's packages of the page are fixed to the byte, come from whichever registry the user has, and never lie in the source tree.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$SOURCE/web" || exit 1

grep -n '"resolved"' package-lock.json && complain "package-lock.json names a registry: let npm write it with web/.npmrc beside it"
packages=$(grep -c '^    "node_modules/' package-lock.json)
hashes=$(grep -c '"integrity": "sha512-' package-lock.json)
[ "$packages" -gt 0 ] && [ "$packages" = "$hashes" ] || complain "package-lock.json has $packages packages, but $hashes hashes"
grep -nE '^    "[^"]+": "[^0-9]' package.json | grep -vE '"(node|check|build)":' && complain "package.json leaves versions open"
git -C "$SOURCE" ls-files web 2>/dev/null | grep -q node_modules && complain "web/node_modules is in the repository"

# What the page asks of its system is what wasi.ts has, no more and no less.
if [ -e "$(dirname "$TACHO")/../share/tacho/view/tacho.wasm" ] && command -v node >/dev/null; then
    asked=$(node -e 'const { Module } = WebAssembly; console.log(Module.imports(new Module(require("fs").readFileSync(process.argv[1]))).filter(({ module }) => module !== "env").map(({ name }) => name).sort().join("\n"))' \
        "$(dirname "$TACHO")/../share/tacho/view/tacho.wasm")
    had=$(sed -n '/readonly imports = {/,/^  };/s/^    \([a-z_]*\): (.*/\1/p' src/engine/wasi.ts | sort)
    [ "$asked" = "$had" ] || complain "tacho.wasm and wasi.ts differ: $(diff <(echo "$asked") <(echo "$had") | grep '^[<>]' | tr '\n' ' ')"
fi
exit $bad
