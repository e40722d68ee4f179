# tacho --version names the commit that was built, in a checkout and in an archive of the source; a new commit changes one small file.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v git >/dev/null || skip "git is not installed"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

version=$(sed -nE 's/^project\(tacho VERSION ([0-9.]+).*/\1/p' "$SOURCE/CMakeLists.txt")
[[ $("$TACHO" --version) =~ ^"tacho $version"(\ \([0-9a-f]{7}(-dirty)?\))?$ ]] || complain "tacho --version says '$("$TACHO" --version)'"

# origin FOLDER: what the build of the source in that folder would be called.
origin() {
    cmake -DSOURCE="$1" -DOUTPUT="$folder/commit.c" -P "$SOURCE/cmake/commit.cmake" || exit 1
    sed -nE 's/.*tacho_commit\[\] = "(.*)", tacho_commit_date\[\] = "(.*)";/\1 \2/p' "$folder/commit.c"
}
expect() {
    local found
    found=$(origin "$1")
    [ "$found" = "$2" ] || complain "$3: '$found', not '$2'"
}

# A repository of its own, with one commit of a known day.
mkdir -p "$folder/tree/cmake" "$folder/archive"
cp "$SOURCE/cmake/commit.txt" "$folder/tree/cmake/"
cp "$SOURCE/.gitattributes" "$folder/tree/"
git_here() { git -C "$folder/tree" -c user.name=n -c user.email=n@example.org -c init.defaultBranch=main "$@"; }
export GIT_COMMITTER_DATE=2020-02-03T12:00:00Z GIT_AUTHOR_DATE=2020-02-03T12:00:00Z
git_here init -q && git_here add . && git_here commit -q -m first || exit 1
commit=$(git_here rev-parse HEAD | cut -c1-7)
expect "$folder/tree" "$commit 2020-02-03" "a checkout"
before=$(stat -c %y "$folder/commit.c")
expect "$folder/tree" "$commit 2020-02-03" "the same checkout"
[ "$(stat -c %y "$folder/commit.c")" = "$before" ] || complain "the file is written again though nothing changed"
git_here archive HEAD | tar -x -C "$folder/archive" || exit 1
expect "$folder/archive" "$commit 2020-02-03" "an archive"
echo >>"$folder/tree/.gitattributes"
expect "$folder/tree" "$commit-dirty 2020-02-03" "a checkout with changes"
mkdir -p "$folder/tree/inside/cmake"
cp "$SOURCE/cmake/commit.txt" "$folder/tree/inside/cmake/"
expect "$folder/tree/inside" " " "a folder within another repository"
exit $bad
