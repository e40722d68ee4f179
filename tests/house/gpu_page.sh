# docs/cuda.md has the table that scripts/gpu-page makes of the newest figures.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
ls "$SOURCE"/bench/results/gpu-*.json >/dev/null 2>&1 || { echo "skipped: no figures of a GPU host are stored"; exit 77; }
python3 "$SOURCE/scripts/gpu-page" --check
