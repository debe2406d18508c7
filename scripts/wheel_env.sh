#!/bin/sh
# wheel_env.sh lowest|locked|newest [FOLDER]: builds FOLDER (.wheel), an environment with the wheel in dist/, or $WHEEL, and those
# dependencies, for $PYTHON (needs uv).
set -eu
cd "$(dirname "$0")/.."
wheel=${WHEEL:-$(ls dist/*.whl | tail -n 1)}
folder=${2:-.wheel}
rm -rf "$folder"
uv venv --quiet --python "${PYTHON:-python3}" "$folder"
install() { VIRTUAL_ENV="$folder" uv pip install --quiet "$@"; }
case "$1" in
lowest) install --resolution lowest-direct "$wheel[sweep,explore]" ;;
locked) install -r requirements/core.txt && install --no-deps "$wheel" ;;
newest) install --upgrade "$wheel[sweep,explore]" ;;
*) echo "wheel_env.sh must be given lowest, locked or newest, got $1." >&2 && exit 2 ;;
esac
