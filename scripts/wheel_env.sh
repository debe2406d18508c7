#!/bin/sh
# wheel_env.sh lowest|locked|newest: builds .wheel, an environment with the wheel in dist/ and those dependencies (needs uv).
set -eu
cd "$(dirname "$0")/.."
wheel=$(ls dist/*.whl | tail -n 1)
rm -rf .wheel
uv venv --quiet --python "${PYTHON:-python3}" .wheel
install() { VIRTUAL_ENV=.wheel uv pip install --quiet "$@"; }
case "$1" in
lowest) install --resolution lowest-direct "$wheel[sweep,explore]" ;;
locked) install -r requirements/core.txt && install --no-deps "$wheel" ;;
newest) install --upgrade "$wheel[sweep,explore]" ;;
*) echo "wheel_env.sh must be given lowest, locked or newest, got $1." >&2 && exit 2 ;;
esac
