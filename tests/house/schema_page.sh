# docs/schema.md is what scripts/schema-page makes of the schema.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 "$SOURCE/scripts/schema-page" | diff "$SOURCE/docs/schema.md" - || { echo "run scripts/schema-page > docs/schema.md"; exit 1; }
