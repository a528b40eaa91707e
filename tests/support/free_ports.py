#!/usr/bin/env python3
"""Prints ports of 127.0.0.1 that nobody listens on: free_ports.py [COUNT].

None of them is one that the system gives to connections: such a port could be taken by somebody before its server listens, or while
the server is killed and starts again, be it by a client of its own that tries to reach it.
"""
import random
import socket
import sys

with open("/proc/sys/net/ipv4/ip_local_port_range") as range_file:
    first, last = map(int, range_file.read().split())
others = [port for port in range(10000, 65536) if not first <= port <= last]
random.shuffle(others)
wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1
found = []
for port in others or [0]:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            continue
        found.append(listener.getsockname()[1])
    if len(found) == wanted:
        break
print(*found)
