#!/usr/bin/env python3
"""isochron-proxy before a server that is none (stub.py): thousands of connections, rows that are larger than memory, bytes that are no
messages, from either side. TAP on stdout.

    alone.py PROXY [--connections N] [--row MEGABYTES] [--hostile N] [--silent SECONDS]
"""
import argparse
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from random import Random

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stub  # noqa: E402

AT_ONCE = 100
SORTS = ("closed at once", "half a first message", "a request for TLS", "a session", "a session with a query", "reset in mid-answer", "a cancel request")
number = 0


def result(good, what):
    global number
    number += 1
    print("%sok %d - %s" % ("" if good else "not ", number, what), flush=True)


def ports(count):
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    numbers = [listener.getsockname()[1] for listener in found]
    for listener in found:
        listener.close()
    return numbers


class Proxy:
    def __init__(self, program, server, *options, before=(), token=None):
        self.folder, self.token = tempfile.TemporaryDirectory(), token
        self.port, self.status = ports(2)
        self.said = open(self.folder.name + "/log", "w+")
        self.process = subprocess.Popen(
            [*before, program, "--bind", str(self.port), "--server", str(server), "--listen", str(self.status), "--to", self.folder.name + "/records",
             *options], stdout=self.said, stderr=self.said)
        for _ in range(600):
            try:
                self.metric("sessions")
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("Bail out! the proxy does not listen: " + self.log())

    def log(self):
        self.said.flush()
        with open(self.said.name) as file:
            return file.read()

    def metric(self, name):
        asked = urllib.request.Request("http://127.0.0.1:%d/metrics" % self.status, headers={"Authorization": "Bearer %s" % self.token} if self.token else {})
        text = urllib.request.urlopen(asked, timeout=20).read().decode()
        return int(re.search(r"^isochron_proxy_%s (\d+)$" % name, text, re.M).group(1))

    def settles(self, name, wanted, seconds=20):
        until = time.time() + seconds
        while self.metric(name) != wanted and time.time() < until:
            time.sleep(0.02)
        return self.metric(name) == wanted

    def descriptors(self, wanted=0):
        """When there are no more than wanted, or in the end: the status page's own close a little later."""
        until = time.time() + 5
        while True:
            count = len(os.listdir("/proc/%d/fd" % self.process.pid))
            if count <= wanted or time.time() > until:
                return count
            time.sleep(0.02)

    def memory(self):
        """KiB that are its own."""
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(re.search(r"^RssAnon:\s+(\d+)", file.read(), re.M).group(1))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def startup(database=b"shop"):
    body = struct.pack("!i", 196608) + b"user\0me\0database\0" + database + b"\0\0"
    return struct.pack("!i", len(body) + 4) + body


def query(text):
    return stub.message(b"Q", text.encode() + b"\0")


class Client:
    def __init__(self, port, begins=True, database=b"shop"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.held = bytearray()
        if begins:
            self.socket.sendall(startup(database))

    def until(self, end):
        """What came up to these bytes."""
        place, looked = -1, 0
        while place < 0:
            place = self.held.find(end, looked)
            if place < 0:
                looked = max(0, len(self.held) - len(end))
                data = self.socket.recv(1 << 18)
                if not data:
                    return None
                self.held += data
        came = bytes(self.held[:place + len(end)])
        del self.held[:place + len(end)]
        return came

    def ask(self, text):
        self.socket.sendall(query(text))
        return self.until(stub.READY)

    def ends(self):
        try:
            while self.socket.recv(1 << 16):
                pass
            return True
        except socket.timeout:
            return False
        except OSError:
            return True

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def visit(port, sort):
    """Connects, and says what a client of this sort says first."""
    client = Client(port, begins=False)
    if sort == 1:
        client.socket.sendall(startup()[:9])
    elif sort == 2:
        client.socket.sendall(struct.pack("!ii", 8, stub.CODE_TLS))
    elif sort in (3, 4, 5):
        client.socket.sendall(startup())
    elif sort == 6:
        client.socket.sendall(struct.pack("!iiii", 16, stub.CODE_CANCEL, 1, 2))
    return client


def leave(client, sort):
    """False: it did not get what it should."""
    good = True
    if sort == 2:
        good = client.until(b"N") == b"N"
    elif sort == 3:
        good = client.until(stub.READY) == stub.GREETING
    elif sort == 4:
        good = client.until(stub.READY) == stub.GREETING and bool(client.ask("SELECT 1"))
        client.socket.sendall(stub.message(b"X"))
    elif sort == 5:
        good = client.until(stub.READY) == stub.GREETING
        client.socket.sendall(query("rows 1000"))
        client.reset()
    elif sort == 6:
        good = client.ends()
    client.socket.close()
    return good


def many(proxy, count, at_once):
    bad = 0
    for first in range(0, count, at_once):
        numbers = range(first, min(first + at_once, count))
        clients = [(visit(proxy.port, i % len(SORTS)), i % len(SORTS)) for i in numbers]
        bad += sum(not leave(client, sort) for client, sort in clients)
    return bad


def connections(proxy, count, measures):
    bystander = Client(proxy.port)
    bystander.until(stub.READY)
    bad = many(proxy, max(count // 10, 200), AT_ONCE)  # what is allocated once
    proxy.settles("sessions", 1)
    opened, memory = proxy.metric("sessions_total"), proxy.memory()
    time.sleep(0.2)
    descriptors = proxy.descriptors(1 << 20)
    bad += many(proxy, count, AT_ONCE)
    settled = proxy.settles("sessions", 1)
    result(settled and not bad and proxy.metric("sessions_total") - opened == count,
           "%d connections of %d sorts are opened and closed, %d went wrong" % (count, len(SORTS), bad))
    left = proxy.descriptors(descriptors)
    result(left == descriptors, "and leave no descriptor behind: %d, %d before" % (left, descriptors))
    at_once = min(count // 5, 2000)
    bad = many(proxy, at_once, at_once)
    settled = proxy.settles("sessions", 1)
    left = proxy.descriptors(descriptors)
    result(settled and not bad and left == descriptors, "%d at a time neither: %d" % (at_once, left))
    grown = proxy.memory() - memory
    result(not measures or grown < 8 << 10, "nor memory: %d KiB, %d before" % (proxy.memory(), memory))
    result(bool(bystander.ask("SELECT 1")), "a session beside them goes on")


def large_row(proxy, megabytes, measures):
    size, client, memory = megabytes * 1000000, Client(proxy.port), proxy.metric("peak_memory_bytes")
    client.until(stub.READY)
    for what in ("row %d" % size, "rows %d" % (size // 10000)):
        client.socket.sendall(query(what))
        buffer, got, last = bytearray(1 << 20), 0, b""
        while not last.endswith(stub.DONE):
            many_bytes = client.socket.recv_into(buffer)
            if not many_bytes:
                break
            got += many_bytes
            last = (last + buffer[max(0, many_bytes - 100):many_bytes])[-100:]
        result(got > size // 20, "%s: %d bytes pass" % (what, got))
    grown = proxy.metric("peak_memory_bytes") - memory
    result(not measures or grown < 4 << 20, "in %d KiB more" % (grown >> 10))
    client.socket.sendall(query("SELECT '%s'" % ("y" * (size // 10))))
    result(bool(client.until(stub.READY)), "so does a statement of a tenth of that")


def stops_reading(proxy, measures):
    memory, clients = proxy.metric("peak_memory_bytes"), [Client(proxy.port) for _ in range(20)]
    for client in clients:
        client.until(stub.READY)
        client.socket.sendall(query("rows 20000"))
    time.sleep(0.5)
    other = Client(proxy.port)
    good = other.until(stub.READY) and other.ask("SELECT 1")
    grown = proxy.metric("peak_memory_bytes") - memory
    result(good and (not measures or grown < 8 << 20), "20 clients that stop reading cost %d KiB, and others nothing" % (grown >> 10))
    for client in clients[10:]:
        client.reset()
    got = [len(client.until(stub.DONE) or b"") for client in clients[:10]]
    result(min(got) > 20000000, "those that go on get the rest; the others are gone")


def server_dies(proxy):
    client, other = Client(proxy.port), Client(proxy.port)
    client.until(stub.READY)
    other.until(stub.READY)
    client.socket.sendall(query("dies 3000000"))
    result(client.ends(), "a server that dies in mid-row ends its session")
    result(bool(other.ask("SELECT 1")), "and no other")


def bad_messages(random):
    """What is no message, and what is one and out of place."""
    broken = [b"\0" * 64, b"D\0\0\0\1", b"D\xff\xff\xff\xff", b"D\x7f\xff\xff\xff" + b"x" * 100, b"\xff" * 4096, b"!\0\0\0\4"]
    odd = [stub.message(kind, random.randbytes(random.randrange(40))) for kind in (b"D", b"T", b"C", b"Z", b"1", b"2", b"G", b"W", b"t", b"S", b"K", b"E")]
    return broken, odd


def hostile(proxy, count):
    random = Random(count)
    bystander, bad = Client(proxy.port), proxy.metric("sessions_bad_total")
    bystander.until(stub.READY)
    broken, odd = bad_messages(random)
    ended = True
    for data in broken:
        client = Client(proxy.port)
        client.until(stub.READY)
        client.socket.sendall(query("bad " + data.hex()))
        ended = client.ends() and ended
        client = Client(proxy.port)
        client.until(stub.READY)
        client.socket.sendall(data)
        ended = client.ends() and ended
    for data in (b"\0\0\0\1", b"\xff" * 100, struct.pack("!i", 10001) + b"\0\3\0\0", struct.pack("!ii", 9, stub.CODE_TLS) + b"x"):
        client = Client(proxy.port, begins=False)
        client.socket.sendall(data)
        ended = client.ends() and ended
    lines = sum("no message" in line or "cannot be" in line for line in proxy.log().splitlines())
    wanted = 2 * len(broken) + 4
    result(ended and proxy.metric("sessions_bad_total") - bad == lines == wanted,
           "%d connections with bytes that are no message are closed, with %d lines" % (wanted, lines))
    for number_of in range(count):
        client = Client(proxy.port)
        client.until(stub.READY)
        pieces = [random.choice(odd) if random.random() < 0.8 else random.randbytes(random.randrange(1, 20)) for _ in range(random.randrange(1, 6))]
        if number_of % 2:
            client.socket.sendall(query("bad " + b"".join(pieces).hex()) + query("SELECT 1"))
        else:
            client.socket.sendall(b"".join(pieces))
        client.reset() if number_of % 3 else client.socket.close()
    result(proxy.settles("sessions", 1), "%d sessions with messages out of place end with their connections" % count)
    result(bool(bystander.ask("SELECT 1")), "and a session beside them goes on")


def silent(proxy, seconds):
    clients, talks = [Client(proxy.port, begins=False) for _ in range(3)], Client(proxy.port)
    clients[1].socket.sendall(startup()[:5])
    talks.until(stub.READY)
    for client in clients:
        client.socket.settimeout(seconds)
    result(all(client.ends() for client in clients) and bool(talks.ask("SELECT 1")), "clients that say nothing whole for a minute are closed, others not")


def before_login(proxy):
    """Who is not logged in makes no work: nothing is parsed, nothing kept."""
    plans, names = proxy.metric("plans_made_total"), proxy.metric("databases")
    client = Client(proxy.port, database=b"locked")
    client.until(stub.message(b"R", struct.pack("!i", 3)))
    client.socket.sendall(query("SELECT * FROM " + ", ".join("a%d" % i for i in range(9000))) * 20)
    others = [Client(proxy.port, database=b"locked%d" % i) for i in range(50)]  # logged in, and gone again
    for other in others:
        other.until(stub.READY)
        other.socket.close()
    made = proxy.metric("plans_made_total") - plans
    result(proxy.settles("sessions", 1) and made == 0, "20 statements of 62 KB before login: %d are parsed" % made)
    result(proxy.metric("databases") <= names + 16, "50 names of databases, of which %d are kept" % (proxy.metric("databases") - names))
    client.socket.close()


def dying_questions(proxy):
    client = Client(proxy.port, database=b"ends")
    client.until(stub.READY)
    result(client.until(stub.FATAL) == stub.FATAL and client.ends(), "a session that the server ends while a question is out is told why")


def request(port, text, headers=""):
    """The status of an answer, by its number."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(("%s HTTP/1.1\r\n%s\r\n" % (text, headers)).encode())
        return int(connection.recv(1 << 16).split()[1])


def slow_requests(proxy):
    slow = [socket.create_connection(("127.0.0.1", proxy.status)) for _ in range(60)]
    for connection in slow:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-A: ")
    answers = [request(proxy.status, "GET /livez") for _ in range(5)]
    still = 0
    for connection in slow:
        connection.setblocking(False)
        try:
            still += connection.recv(1) != b""
        except BlockingIOError:
            still += 1
        except OSError:
            pass
        connection.close()
    result(answers == [200] * 5 and still >= 20, "/livez waits for none of 60 requests that do not end, %d of which are still open" % still)


def control(proxy, program, server):
    url, port = "PUT /recording/off", proxy.status
    refused = [request(port, url, headers) for headers in (
        "Host: evil.example\r\n", "Host: localhost\r\nOrigin: http://localhost\r\n", "Host: 127.0.0.1\r\norigin: null\r\n",
        "Host: localhost\r\nSec-Fetch-Site: same-origin\r\n")]
    result(refused == [421, 403, 403, 403] and proxy.metric("recording") == 1, "no page in a browser switches recording off: %s" % refused)
    result(request(port, "GET /status", "Host: evil.example:80\r\n") == 421, "nor reads the status by a name of its own")
    allowed = [request(port, url, "Host: localhost:%d\r\n" % port), proxy.metric("recording"), request(port, "PUT /recording/on"), proxy.metric("recording")]
    result(allowed == [200, 0, 200, 1], "its owner does, from this machine")
    token = proxy.folder.name + "/token"
    with open(token, "w") as file:
        file.write("a-token-of-the-test\n")
    other = Proxy(program, server, "--listen-token", token, "--listen-name", "proxy.example", token="a-token-of-the-test")
    held = "Host: proxy.example\r\nOrigin: http://x\r\nAuthorization: Bearer "
    answers = [request(other.status, url), request(other.status, url, held + "a-token-of-the-tesT\r\n"), request(other.status, url, held + "a-token-of-the-test\r\n"),
               other.metric("recording"), request(other.status, "GET /livez")]
    other.end()
    result(answers == [401, 401, 200, 0, 200], "with a token only who has it: %s" % answers)


def few_descriptors(program, server):
    proxy = Proxy(program, server, "--threads", "2", before=("prlimit", "--nofile=100:100"))
    most = proxy.metric("sessions_limit")
    clients = [Client(proxy.port) for _ in range(2 * most)]
    for client in clients[:most]:
        client.until(stub.READY)
    pauses = proxy.metric("accept_pauses_total")
    time.sleep(2.2)
    pauses = proxy.metric("accept_pauses_total") - pauses
    result(most == 25 and request(proxy.status, "GET /livez") == 200, "with 100 descriptors %d sessions are taken, and /livez is answered" % most)
    result(0 < pauses <= 8, "nothing spins while others wait: %d pauses in 2.2 s of 2 loops" % pauses)
    for client in clients[:most]:
        client.socket.close()
    for client in clients[most:]:
        client.until(stub.READY)
    result(bool(clients[-1].ask("SELECT 1")), "who waited is taken when others end")
    for client in clients[most:]:
        client.socket.close()
    result(proxy.end() == 0, "SIGTERM ends that, too")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--connections", type=int, default=10000)
    options.add_argument("--row", type=int, default=1000)
    options.add_argument("--hostile", type=int, default=300)
    options.add_argument("--silent", type=int, default=0)
    options = options.parse_args()
    server, process = stub.start()
    proxy = Proxy(options.program, server)
    with open(options.program, "rb") as file:
        measures = not re.search(b"__[at]san_init", file.read())  # sanitizers keep memory of their own
    try:
        connections(proxy, options.connections, measures)
        large_row(proxy, options.row, measures)
        stops_reading(proxy, measures)
        server_dies(proxy)
        hostile(proxy, options.hostile)
        before_login(proxy)
        dying_questions(proxy)
        slow_requests(proxy)
        control(proxy, options.program, server)
        few_descriptors(options.program, server)
        if options.silent:
            silent(proxy, options.silent)
    finally:
        status = proxy.end()
        os.kill(process, signal.SIGKILL)
    result(status == 0, "SIGTERM ends it")
    print("1..%d" % number)


if __name__ == "__main__":
    main()
