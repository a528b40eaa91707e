#!/usr/bin/env python3
"""A server's lie: passes connections on to a PostgreSQL, and writes one value for another of the same length into rows of one column.

    liar.py PORT TRUE FALSE      prints the port that it listens at
"""
import socket
import sys
import threading

port, true, false = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3].encode()


def row(value):
    return b"D" + (10 + len(value)).to_bytes(4, "big") + b"\0\1" + len(value).to_bytes(4, "big") + value


def pass_on(source, target, change):
    try:
        while data := source.recv(65536):
            target.sendall(data.replace(row(true), row(false)) if change else data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    server = socket.create_connection(("127.0.0.1", port))
    for one in client, server:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=pass_on, args=(client, server, False), daemon=True).start()
    threading.Thread(target=pass_on, args=(server, client, True), daemon=True).start()
