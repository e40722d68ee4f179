# docs/cuda-calls.md is what scripts/cuda-calls-page makes of the list of calls.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 "$SOURCE/scripts/cuda-calls-page" | diff "$SOURCE/docs/cuda-calls.md" - || { echo "run scripts/cuda-calls-page > docs/cuda-calls.md"; exit 1; }
