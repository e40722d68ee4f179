# Every test that skips says why, in a sentence that scripts/test can show: more than a word, and in front of the exit.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$SOURCE/tests" || exit 1

# Exits with 77, and cmocka's skip(), come with "skipped: …", on the same line or just before.
for file in unit/*.c */*.sh */*.py */*.mjs; do
    case $file in gpu/* | house/skips.sh) continue ;; esac
    awk -v file="$file" '
        /skipped:/ { said = NR }
        /(^|[^a-z_.])skip\(\);|\.exit\(77\)/ || (file ~ /sh$/ && /exit 77/) {
            if (!said || NR - said > 1) { print file ":" NR ": skips without a reason"; bad = 1 }
        }
        END { exit bad }' "$file" || bad=1
done
# The reasons themselves.
grep -rnE "skipTest\((f?\"\"|f?\"[^ \"]*\")?\)" --include=*.py . && complain "a skip needs a reason of more than one word"
# What tests skip without is in a list of packages, so that scripts/test or scripts/test --all installs it.
installed=" $(sed -n 's/^packages_[a-z]*="\(.*\)"$/\1/p' "$SOURCE/scripts/lib.sh" | tr '\n' ' ')"
for package in zstd nodejs chromium-headless-shell firefox-esr qemu-user g++ clang clang-format-19 binutils strace python3-venv linux-perf \
    python3-numpy python3-pandas python3-nbclient python3-ipykernel python3-distributed python3-mpi4py slurmd python3-ipython pypy3 bubblewrap libc6-i386 rustc golang-go default-jdk-headless man-db mandoc zsh fish lintian; do
    [[ $installed == *" $package "* ]] || complain "tests skip without $package, and no list in scripts/lib.sh has it"
done
exit $bad
