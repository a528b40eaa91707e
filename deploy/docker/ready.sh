#!/bin/bash
# Asks the status server of this container whether the watch is ready: exit status 0 if so, else 1 with its reason. For health
# checks: the image has no other HTTP client. ISOCHRON_LISTEN (HOST:PORT) and ISOCHRON_LISTEN_TOKEN (a file) say where and how;
# where a configuration file says so instead, the health check names them.
listen=${ISOCHRON_LISTEN:-127.0.0.1:8080}
exec 3<>"/dev/tcp/127.0.0.1/${listen##*:}" || exit 1
authorization=
[ -z "${ISOCHRON_LISTEN_TOKEN:-}" ] || authorization="Authorization: Bearer $(tr -d '\r\n' <"$ISOCHRON_LISTEN_TOKEN")"$'\r\n'
printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n' "$authorization" >&3
answer=$(tr -d '\r' <&3)
[ "${answer%%$'\n'*}" != "HTTP/1.1 200 OK" ] || exit 0
echo "${answer##*$'\n'}" >&2
exit 1
