#!/usr/bin/env python3
"""What clients and servers do to a proxy: torture.py PROXY-PORT STATUS-PORT [CONNECTIONS]. TAP without a plan, on stdout.

Hostile bytes, a client that stops reading, one that closes its half, cancel requests, a row of a gigabyte, many connections."""
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(__file__))
sys.stdout, out = open(os.devnull, "w"), sys.stdout
import talk  # noqa: E402

PROXY, STATUS = int(sys.argv[1]), int(sys.argv[2])
MANY = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
number = 0


def result(good, what):
    global number
    number += 1
    print("%sok %d - %s" % ("" if good else "not ", number, what), file=out, flush=True)


def metric(name):
    text = urllib.request.urlopen("http://127.0.0.1:%d/metrics" % STATUS, timeout=10).read().decode()
    return int(re.search(r"^isochron_proxy_%s (\d+)$" % name, text, re.M).group(1))


def settles(name, value, seconds=10):
    until = time.time() + seconds
    while metric(name) != value and time.time() < until:
        time.sleep(0.05)
    return metric(name) == value


def ends(connection):
    connection.settimeout(5)
    try:
        while connection.recv(65536):
            pass
        return True
    except socket.timeout:
        return False
    except ConnectionError:
        return True


def hostile():
    other = talk.Session(PROXY, "postgres")
    bad = metric("sessions_bad_total")
    for data in (b"\0\0\0\1", b"\xff" * 100, struct.pack("!i", 10001) + b"\0\3\0\0"):
        connection = socket.create_connection(("127.0.0.1", PROXY))
        connection.sendall(data)
        result(ends(connection), "a first message that cannot be ends its connection")
    for data in (b"\0" * 64, b"Q\0\0\0\1", b"Q\xff\xff\xff\xff", os.urandom(3) + b"\xff" * 4096):
        session = talk.Session(PROXY, "postgres")
        session.socket.sendall(data)
        result(ends(session.socket), "bytes that are no message end their connection")
    result(metric("sessions_bad_total") - bad >= 6, "and are counted")
    other.say(talk.query("SELECT 1"))
    result(True, "and no other")


def stops_reading():
    session = talk.Session(PROXY, "postgres")
    peak = metric("peak_memory_bytes")
    session.socket.sendall(talk.query("SELECT repeat('x', 1000) FROM generate_series(1, 300000)"))
    time.sleep(2)
    other = talk.Session(PROXY, "postgres")
    other.say(talk.query("SELECT 1"))
    grown = metric("peak_memory_bytes") - peak
    result(grown < 4 << 20, "a client that stops reading costs %d KiB, and others nothing" % (grown >> 10))
    session.until_ready(1)
    result(True, "and gets the rest when it goes on")


def large_row(size):
    session = talk.Session(PROXY, "postgres")
    peak = metric("peak_memory_bytes")
    session.socket.settimeout(120)
    session.socket.sendall(talk.query("SELECT repeat('x', %d)" % size))
    got = 0
    while got < size:
        more = session.socket.recv(1 << 20)
        if not more:
            break
        got += len(more)
    grown = metric("peak_memory_bytes") - peak
    result(got >= size and grown < 8 << 20, "a row of %d MB passes in %d KiB more" % (size // 1000000, grown >> 10))


def half_close():
    connection = talk.Session(PROXY, "postgres")
    connection.socket.sendall(talk.query("SELECT repeat('y', 100000)") + talk.TERMINATE)
    connection.socket.shutdown(socket.SHUT_WR)
    got = 0
    while True:
        more = connection.socket.recv(65536)
        if not more:
            break
        got += len(more)
    result(got > 100000, "a client that closed its half gets the answer")


def cancels():
    session = talk.Session(PROXY, "postgres")
    done = []

    def run():
        session.say(talk.query("SELECT pg_sleep(30)"))
        done.append(time.time())

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    begun = time.time()
    connection = socket.create_connection(("127.0.0.1", PROXY))
    connection.sendall(struct.pack("!ii", 16, 80877102) + session.key)
    connection.close()
    thread.join(10)
    result(bool(done) and done[0] - begun < 5, "a cancel request finds its session")


def many(count):
    opened = metric("sessions_total")
    begun = time.time()
    for i in range(count):
        connection = socket.create_connection(("127.0.0.1", PROXY))
        if i % 50 == 0:
            connection.sendall(b"\0\0\0\x08\4\xd2\x16\x2f")
        connection.close()
    result(settles("sessions", 0, 30), "%d connections are opened and closed in %.1f s" % (count, time.time() - begun))
    result(metric("sessions_total") - opened >= count, "all of them were sessions")


hostile()
cancels()
half_close()
stops_reading()
large_row(1000000000 if MANY > 1000 else 200000000)
many(MANY)
