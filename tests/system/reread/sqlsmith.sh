#!/bin/bash
# sqlsmith's statements through isochron-proxy: nothing that it records is untrue, whatever it lets through. TAP on stdout.
#
#   tests/system/reread/sqlsmith.sh [--queries N]    SEED
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v sqlsmith >/dev/null; then
    echo "1..0 # SKIP no sqlsmith (Debian's package of that name)"
    exit 0
fi
[ "${1:-}" = --queries ] && many=$2
seed=$((${SEED:-1} % 2147483647))
echo "# seed $seed"
exec "$here/reread.py" app --schema "$here/schema.sql" --proxy "${PROXY:-$here/../../../${BUILD:-build}/isochron-proxy}" -- \
    sh -c 'sqlsmith --target="host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE" --exclude-catalog --seed='"$seed"' \
        --max-queries='"${many:-300}"' 2>&1 | grep -c . | sed "s/^/# lines of sqlsmith: /"'
