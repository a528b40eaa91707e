"""PostgreSQL's protocol, version 3: messages to send, bytes that came as messages."""
import socket
import struct

HEADER = struct.Struct("!ci")
SYNC = b"S\0\0\0\4"


def message(kind, body=b""):
    return HEADER.pack(kind, len(body) + 4) + body


def text(value):
    return (value if isinstance(value, bytes) else value.encode()) + b"\0"


def query(sql):
    return message(b"Q", text(sql))


def parse(name, sql, types=()):
    return message(b"P", text(name) + text(sql) + struct.pack("!h%dI" % len(types), len(types),
            *types))


def bind(portal="", name="", values=(), formats=(), result_formats=()):
    body = [text(portal), text(name), struct.pack("!h%dh" % len(formats), len(formats), *formats),
            struct.pack("!h", len(values))]
    for value in values:
        if value is None:
            body.append(b"\xff\xff\xff\xff")
        else:
            value = value.encode() if isinstance(value, str) else value
            body += [struct.pack("!i", len(value)), value]
    body.append(struct.pack("!h%dh" % len(result_formats), len(result_formats), *result_formats))
    return message(b"B", b"".join(body))


def describe(what="P", name=""):
    return message(b"D", what.encode() + text(name))


def execute(portal="", rows=0):
    return message(b"E", text(portal) + struct.pack("!i", rows))


def close(what, name=""):
    return message(b"C", what.encode() + text(name))


def startup(database="postgres", user="postgres", **settings):
    pairs = {"user": user, "database": database, **settings}
    body = struct.pack("!i", 196608) + b"".join(text(k) + text(v) for k, v in pairs.items()) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def whole(held, typed=True):
    """Takes the whole messages off the front of the bytearray `held`: [(kind, message)]. Those before the startup
    is over have no kind; one of them at a time."""
    out, at, end = [], 0, len(held)
    if not typed:
        if end >= 4:
            size = struct.unpack_from("!i", held)[0]
            if end >= size:
                out.append((b"", bytes(held[:size])))
                del held[:size]
        return out
    while end - at >= 5:
        kind, size = HEADER.unpack_from(held, at)
        if end - at <= size:
            break
        out.append((kind, bytes(held[at:at + size + 1])))
        at += size + 1
    del held[:at]
    return out


def row(body):
    """The values of a DataRow."""
    count, at, out = struct.unpack_from("!h", body)[0], 2, []
    for _ in range(count):
        size = struct.unpack_from("!i", body, at)[0]
        at += 4
        out.append(None if size < 0 else body[at:at + size])
        at += max(size, 0)
    return out


def error(body):
    fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    return "%s %s" % (fields.get(b"C", "?"), fields.get(b"M", "?"))


class Failed(Exception):
    pass


class Connection:
    """One that waits for its answers: the test's own, beside what is tested."""

    def __init__(self, port, **settings):
        self.socket, self.held = socket.create_connection(("127.0.0.1", port)), bytearray()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(startup(**settings))
        self.answers(1)

    def answers(self, many):
        """[[row, ...], ...] of so many ReadyForQuery, one for each statement; the first error is raised at the end."""
        results, rows, failed = [], [], None
        while many:
            for kind, one in whole(self.held):
                if kind == b"D":
                    rows.append(row(one[5:]))
                elif kind in b"CIs":
                    results.append(rows)
                    rows = []
                elif kind == b"E":
                    failed = failed or error(one[5:])
                    rows = []
                elif kind == b"Z":
                    many -= 1
            if many:
                more = self.socket.recv(1 << 18)
                if not more:
                    raise Failed("the server closed the connection")
                self.held += more
        if failed:
            raise Failed(failed)
        return results

    def ask(self, sql):
        """The rows of the last statement, as text."""
        self.socket.sendall(query(sql))
        results = self.answers(1)
        return [[None if v is None else v.decode() for v in r]
                for r in results[-1]] if results else []

    def ask_with(self, sql, values):
        self.socket.sendall(parse("", sql) + bind("", "", values) + execute() + SYNC)
        return [[None if v is None else v.decode() for v in r] for r in self.answers(1)[-1]]

    def close(self):
        try:
            self.socket.sendall(message(b"X"))
            self.socket.close()
        except OSError:
            pass
