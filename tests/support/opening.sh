# How scripts that run real databases begin: $isochron, $workload (of PostgreSQL), TAP and verdicts, and $work, a directory that goes away
# at the end (KEEP=1: it does not). The script sets $here, and has a function chain_stop, which ends what it started.
isochron=$(realpath "${ISOCHRON:-$here/../../../build/isochron}")
workload=$(realpath "${WORKLOAD:-$here/../../../build/postgres-workload}")
work=$(mktemp -d)
chmod 755 "$work" # the database's user must get in
number=0
. "$here/../../support/tap.sh"
. "$here/../../support/verdict.sh"

stop_all() {
    jobs -p | xargs -r kill 2>/dev/null
    chain_stop
    [ -n "${KEEP:-}" ] && echo "# kept in $work" || rm -rf "$work"
}
trap stop_all EXIT
