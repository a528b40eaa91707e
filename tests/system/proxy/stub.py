"""A PostgreSQL that is none: it speaks the protocol, answers from memory, and misbehaves on request. For tests of isochron-proxy that
need thousands of sessions, or a server that lies, within seconds. One process, one loop.

What a simple query asks for by its text:

    row N      one row of N bytes
    rows N     N rows of 1,000 bytes
    dies N     a row of which N bytes come, of one more than that, and then the connection is reset
    bad HEX    these bytes
    other      one row

What a session does by the name of its database: `locked` asks for a password and is never content, `ends` ends the session when it is asked
a question of the proxy's own.
"""
import os
import selectors
import socket
import struct

REFUSES_TLS, CODE_TLS, CODE_GSS, CODE_CANCEL = b"N", 80877103, 80877104, 80877102
CHUNK = b"x" * (1 << 18)


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


READY = message(b"Z", b"I")
GREETING = (message(b"R", struct.pack("!i", 0)) + message(b"S", b"client_encoding\0UTF8\0") + message(b"S", b"DateStyle\0ISO, MDY\0") +
            message(b"S", b"standard_conforming_strings\0on\0") + message(b"K", b"\0\0\0\1\0\0\0\2") + READY)
DESCRIPTION = message(b"T", struct.pack("!h", 1) + b"c\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0))
DONE = message(b"C", b"SELECT 1\0") + READY
FATAL = message(b"E", b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0")
EXTENDED = {b"P": message(b"1"), b"B": message(b"2"), b"D": message(b"n"), b"E": message(b"C", b"SELECT 0\0"), b"C": message(b"3"), b"S": READY}


def value(size):
    """A row of one value, up to where it begins."""
    return b"D" + struct.pack("!ihi", size + 10, 1, size)


class Session:
    def __init__(self, connection):
        self.socket = connection
        self.held = bytearray()
        self.out = []  # bytes, and numbers: so many of "x"; None: a reset
        self.has_begun = False
        self.database = b""

    def take(self, data):
        """False: it is over."""
        self.held += data
        while True:
            start = 0 if not self.has_begun else 1
            if len(self.held) < start + 4:
                return True
            length = start + struct.unpack_from("!i", self.held, start)[0]
            if len(self.held) < length:
                return True
            one = bytes(self.held[:length])
            del self.held[:length]
            if not (self.query(one) if self.has_begun else self.startup(one)):
                return False

    def startup(self, one):
        code = struct.unpack_from("!i", one, 4)[0]
        if code == CODE_CANCEL:
            return False
        if code in (CODE_TLS, CODE_GSS):
            self.out.append(REFUSES_TLS)
        else:
            self.has_begun = True
            words = one[8:].split(b"\0")
            self.database = dict(zip(words[::2], words[1::2])).get(b"database", b"")
            self.out.append(message(b"R", struct.pack("!i", 3)) if self.database == b"locked" else GREETING)
        return True

    def query(self, one):
        kind = one[:1]
        if kind == b"X":
            return False
        if self.database == b"locked":
            return True
        if self.database == b"ends" and b"pg_catalog." in one:
            self.socket.send(FATAL)
            return False
        if kind in EXTENDED:
            self.out.append(EXTENDED[kind])
        elif kind == b"Q":
            self.answer(one[5:-1].decode().split())
        return True

    def answer(self, words):
        what, number = (words + ["", ""])[:2]
        if what == "row":
            self.out += [DESCRIPTION + value(int(number)), int(number), DONE]
        elif what == "rows":
            row = value(1000) + b"x" * 1000
            self.out.append(DESCRIPTION)
            self.out += [row * 100] * (int(number) // 100)
            self.out.append(DONE)
        elif what == "dies":
            self.out += [DESCRIPTION + value(int(number) + 1), int(number), None]
        elif what == "bad":
            self.out.append(bytes.fromhex(number))
        else:
            self.out.append(DESCRIPTION + value(1) + b"1" + DONE)

    def send(self):
        """False: it is over."""
        while self.out:
            first = self.out[0]
            if first is None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            try:
                put = self.socket.send(CHUNK[:first] if isinstance(first, int) else first)
            except BlockingIOError:
                return True
            left = first - put if isinstance(first, int) else first[put:]
            if left:
                self.out[0] = left
            else:
                del self.out[0]
        return True


def serve(listener):
    selector = selectors.DefaultSelector()
    listener.setblocking(False)
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, events in selector.select():
            session = key.data
            if session is None:
                try:
                    connection, _ = listener.accept()
                except BlockingIOError:
                    continue
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_READ, Session(connection))
                continue
            goes_on, waited = True, bool(session.out)
            try:
                if events & selectors.EVENT_READ:
                    data = session.socket.recv(1 << 16)
                    goes_on = bool(data) and session.take(data)
                goes_on = session.send() and goes_on
            except OSError:
                goes_on = False
            if not goes_on:
                selector.unregister(session.socket)
                session.socket.close()
            elif waited != bool(session.out):
                selector.modify(session.socket, selectors.EVENT_READ | (selectors.EVENT_WRITE if session.out else 0), session)


def start():
    """Its port, and its process, which ends with ours."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    process = os.fork()
    if not process:
        try:
            serve(listener)
        finally:
            os._exit(1)
    port = listener.getsockname()[1]
    listener.close()
    return port, process
