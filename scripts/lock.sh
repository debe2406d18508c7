#!/bin/sh
# Recompile the pinned, hashed requirements from pyproject.toml and requirements/*.in (needs uv).
#
# Everything is resolved together once, so that the files agree wherever they share a package, then written apart.
# One resolution serves every platform and Python >= 3.11. Releases younger than two weeks are left out; set LOCK_DATE to choose the day.
set -eu
cd "$(dirname "$0")/.."

all=$(mktemp)
trap 'rm -f "$all"' EXIT
day=${LOCK_DATE:-$(python3 -c 'import datetime as d; print(d.date.today() - d.timedelta(days=14))')}

compile() {
    uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --exclude-newer "$day" \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@" >/dev/null
}

compile --upgrade pyproject.toml requirements/core.in requirements/dev.in requirements/extras.in -o "$all"
compile --upgrade --generate-hashes -c "$all" pyproject.toml requirements/core.in -o requirements/core.txt
compile --upgrade --generate-hashes -c "$all" requirements/dev.in -o requirements/dev.txt
compile --upgrade --generate-hashes -c "$all" requirements/extras.in -o requirements/extras.txt
echo "Locked $(grep -c == "$all") packages as of $day."
