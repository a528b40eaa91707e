#!/bin/bash
# isochron-proxy and TLS, before a real PostgreSQL that speaks it: passed on from end to end, refused, spoken by the proxy to either side;
# certificates that are checked, passwords by SCRAM, channels that are bound. TAP on stdout.
#
#   PROXY=build/isochron-proxy tests/system/proxy/encrypted.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/start.sh"

# ---- certificates, and a server that asks for a password ----

authority() { # name
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" -keyout "$work/$1.key" -out "$work/$1.crt" 2>>"$work/openssl"
}
certificate() { # name host: signed by ca
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$work/$1.key" -out "$work/$1.csr" 2>>"$work/openssl" &&
        openssl x509 -req -in "$work/$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 -out "$work/$1.crt" \
            -extfile <(echo "subjectAltName=${3:-DNS:localhost,IP:127.0.0.1}") 2>>"$work/openssl"
}
authority ca && authority stranger && certificate server localhost && certificate own localhost
database_start && psql -q -p "$direct" -c "CREATE TABLE kv (k int PRIMARY KEY, v int)" -c "INSERT INTO kv VALUES (1, 1)" \
    -c "CREATE ROLE ann LOGIN PASSWORD 'secret'" -c "GRANT ALL ON kv TO ann"
data=$work/postgres/data
cp "$work/server.crt" "$work/server.key" "$data/"
[ "$(id -u)" != 0 ] || chown postgres "$data/server.crt" "$data/server.key"
chmod 600 "$data/server.key"
echo "ssl = on" >>"$data/postgresql.conf"
sed -i '1ihost all ann 127.0.0.1/32 scram-sha-256' "$data/pg_hba.conf"
"$here/../postgres/cluster.sh" stop "$work/postgres"
database_start
export PGUSER=ann PGPASSWORD=secret PGSSLROOTCERT=$work/ca.crt PGHOST=localhost PGCONNECT_TIMEOUT=10
unset PGSSLMODE
ask="SELECT 'TLS ' || ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
[ "$(psql -qAt "port=$direct sslmode=verify-full channel_binding=require" -c "$ask")" = "TLS true" ]
result $? "PostgreSQL speaks TLS, and binds channels" || exit 1

# What the server says of its own connection, or what psql says of its failure.
says() { # options of the client
    psql -qAt "port=$through $1" -c "$ask" 2>&1 | paste -sd' '
}
is_like() { # pattern what was said, name
    # shellcheck disable=SC2053 # a pattern
    [[ $2 == $1 ]]
    result $? "$3: $2"
}
reads() { # through the proxy: how many are recorded
    psql -qAt "port=$through $1" -c "SELECT v FROM kv WHERE k = 1" >"$work/null" 2>&1
    metric reads_recorded_total
}

sends() { # bytes: and what comes until the end
    # shellcheck disable=SC2059 # bytes
    timeout 10 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "$2" >&3 && cat <&3' - "$through" "$1"
}

# ---- from end to end ----

proxy_start --to "$work/passed.jsonl"
is_like "TLS true" "$(says "sslmode=verify-full channel_binding=require")" "by default TLS goes from end to end"
[ "$(reads sslmode=require)" = 0 ] && [ "$(metric sessions_encrypted_total)" = 2 ] && [ "$(grep -c 'is encrypted' "$work/proxy.err")" = 1 ]
result $? "such sessions are not recorded, which is said once and counted"
is_like "TLS false" "$(says sslmode=disable)" "clients that want none get none"
[ "$(reads sslmode=disable)" = 1 ]
result $? "and are recorded"
sends '\x16\x03\x01\x00\x05hello' >"$work/null"
[ "$(metric sessions_bad_total)" = 0 ] && [ "$(metric sessions_encrypted_total)" = 3 ]
result $? "TLS that nobody asked for is the server's to answer"
proxy_stop

# ---- refused ----

proxy_start --to "$work/refused.jsonl" --tls refuse
is_like "TLS false" "$(says sslmode=prefer)" "--tls refuse: clients go on without"
is_like "*server does not support SSL*" "$(says sslmode=require)" "those that insist do not"
[ "$(reads sslmode=prefer)" = 1 ]
result $? "and they are recorded"
proxy_stop

# ---- the server's own certificate, on both sides ----

proxy_start --to "$work/own.jsonl" --tls-certificate "$work/server.crt" --tls-key "$work/server.key" --server "localhost:$direct" --server-tls \
    --server-ca "$work/ca.crt"
is_like "TLS true" "$(says "sslmode=verify-full channel_binding=require")" "with the server's own certificate channels are bound"
is_like "TLS true" "$(says "sslmode=disable")" "a client without TLS reaches a server with it"
is_like "*password authentication failed*" "$(PGPASSWORD=wrong says sslmode=require)" "a wrong password is the server's to refuse"
before=$(metric reads_recorded_total)
[ "$(reads "sslmode=verify-full channel_binding=require")" = $((before + 1)) ] && [ "$(metric sessions_encrypted_total)" = 0 ]
result $? "what is said is recorded"
for port in "$direct" "$through"; do
    psql -X -a "port=$port sslmode=verify-full user=postgres" -v ON_ERROR_STOP=0 -f "$here/session.sql" >"$work/psql.$port" 2>&1
done
cmp "$work/psql.$direct" "$work/psql.$through"
result $? "what psql shows is the same with it and without it: $(wc -l <"$work/psql.$direct") lines"
memory=$(metric peak_memory_bytes)
[ "$(psql -qAt "port=$through sslmode=require" -c "SELECT repeat('x', 100000000)" | wc -c)" = 100000001 ] &&
    [ $(($(metric peak_memory_bytes) - memory)) -lt $((8 << 20)) ]
result $? "a row of 100 MB passes in $((($(metric peak_memory_bytes) - memory) >> 10)) KiB more"
(for i in $(seq 40000); do echo "$i	$i"; done) | psql -q "port=$through sslmode=require user=postgres" -c "CREATE TABLE copied (a int, b int)" -c "COPY copied FROM STDIN" &&
    [ "$(psql -qAt "port=$through sslmode=require user=postgres" -c "SELECT sum(a + b) FROM copied")" = 1600040000 ]
result $? "and so does COPY in the other direction"
pgbench -q -i -s 1 "port=$through sslmode=require user=postgres" >"$work/init" 2>&1
for mode in simple extended prepared; do
    pgbench -n -c 4 -t 100 -M $mode "port=$through sslmode=require user=postgres" 2>&1 | grep -q 'processed: 400/400' || echo $mode
done >"$work/modes"
[ ! -s "$work/modes" ]
result $? "pgbench runs in all modes"
for bytes in '\x00\x00\x00\x08\x04\xd2\x16\x2f\x16\x03\x01' '\x00\x00\x00\x08\x04\xd2\x16\x2fx'; do
    sends "$bytes"
done >"$work/behind"
[ ! -s "$work/behind" ] && [ "$(metric sessions_bad_total)" = 2 ] && [ "$(says sslmode=require)" = "TLS true" ]
result $? "what stands behind a request for TLS unencrypted ends its session, and no other"
proxy_stop

# ---- a certificate of its own ----

proxy_start --to "$work/other.jsonl" --tls-certificate "$work/own.crt" --tls-key "$work/own.key" --server "localhost:$direct" --server-tls
is_like "*channel binding*" "$(says "sslmode=verify-full channel_binding=require")" "with another certificate bound channels are refused"
is_like "TLS true" "$(says "sslmode=verify-full channel_binding=disable")" "unbound ones are not, and SCRAM passes through"
proxy_stop
proxy_start --to "$work/half.jsonl" --tls-certificate "$work/own.crt" --tls-key "$work/own.key"
is_like "TLS false" "$(says sslmode=verify-full)" "TLS with clients alone: SCRAM passes, as the server does not bind"
proxy_stop

# ---- servers that are not the one ----

proxy_start --server "localhost:$direct" --server-tls --server-ca "$work/stranger.crt"
is_like "*TLS with the server failed: *certificate*" "$(says sslmode=disable)" "a server that somebody else signed is not spoken with"
proxy_stop
proxy_start --server "localhost:$direct" --server-tls --server-ca "$work/ca.crt"
is_like "TLS true" "$(says sslmode=disable)" "one that is signed and named is"
proxy_stop
psql -q "port=$direct user=postgres" -c "ALTER SYSTEM SET ssl_cert_file = '$data/wrong.crt'" -c "ALTER SYSTEM SET ssl_key_file = '$data/wrong.key'"
certificate wrong elsewhere DNS:elsewhere
cp "$work/wrong.crt" "$work/wrong.key" "$data/"
[ "$(id -u)" != 0 ] || chown postgres "$data/wrong.crt" "$data/wrong.key"
chmod 600 "$data/wrong.key"
psql -q "port=$direct user=postgres" -c "SELECT pg_reload_conf()" >"$work/null"
proxy_start --server "localhost:$direct" --server-tls --server-ca "$work/ca.crt"
is_like "*TLS with the server failed: *mismatch*" "$(says sslmode=disable)" "one that is signed for another host is not"
proxy_stop
psql -q "port=$direct user=postgres sslmode=require" -c "ALTER SYSTEM SET ssl = off" -c "SELECT pg_reload_conf()" >"$work/null"
proxy_start --server "localhost:$direct" --server-tls
is_like "*does not speak TLS, which --server-tls asks for*" "$(says sslmode=disable)" "nor one that does not speak TLS"
proxy_stop

# ---- options that cannot be ----

refuses() { # pattern options...
    local pattern=$1
    shift
    timeout 10 "$proxy" --bind 127.0.0.1:0 "$@" >"$work/null" 2>"$work/refused"
    [ $? = 2 ] && grep -q -- "$pattern" "$work/refused" || sed 's/^/# /' "$work/refused"
}
refuses 'expected --tls-certificate FILE and --tls-key FILE' --tls own >"$work/options"
refuses 'expected --tls-certificate FILE and --tls-key FILE' --tls-key "$work/own.key" >>"$work/options"
refuses "$work/nothing.crt: " --tls-certificate "$work/nothing.crt" --tls-key "$work/own.key" >>"$work/options"
refuses "$work/server.key: .*mismatch" --tls-certificate "$work/own.crt" --tls-key "$work/server.key" >>"$work/options"
refuses "$work/nothing.crt: " --server-tls --server-ca "$work/nothing.crt" >>"$work/options"
[ ! -s "$work/options" ]
result $? "certificates and keys that are missing or do not fit are named at the start" || cat "$work/options"
plan $number
