# Runs one script of this folder with node, where there is one.
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
exec node "$@"
