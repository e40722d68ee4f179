# Runs one script of this folder with node, where there is one; --firefox: in Firefox and not in Chromium.
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
if [ "$1" = --firefox ]; then
  export BROWSER=firefox
  shift
fi
exec node "$@"
