# How scripts begin that run a whole chain of servers (servers.sh): $workload (of PostgreSQL) and verdicts, too. The script has a function
# chain_stop, which ends what it started.
. "$here/../../support/servers.sh"
workload=$(realpath "${WORKLOAD:-$build/postgres-workload}")
. "$here/../../support/verdict.sh"

servers_stop() {
    chain_stop
}
