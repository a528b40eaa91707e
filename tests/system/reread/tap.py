"""A forwarder between proxy and server that asks, whenever a client's messages were answered, for the state of all tables, in the client's
own session and transaction, and takes the answer out again: neither proxy nor client see it. And it notes what ran."""
import re
import select
import socket
import struct

import state as states
import wire

PROXY_ASKS = b"isochron"  # the beginning of the names that the proxy's own questions have
# Behind these nothing is asked: they take no snapshot, and a question would; or they return nothing and change no row.
SILENT = re.compile(r"BEGIN|START|COMMIT|ROLLBACK|SET|SHOW|RESET|SAVEPOINT|RELEASE|PREPARE|DEALLOCATE|LISTEN|UNLISTEN|NOTIFY|DISCARD|LOCK|"
                    r"CLOSE|DECLARE")
LAYOUT_CHANGES = re.compile(r"CREATE|ALTER|DROP|DO$|CALL|SELECT INTO|IMPORT|REFRESH")
ASK = wire.parse("reread_asks", "SELECT reread.asked($1, $2)", (25, 25))
ASKED = wire.execute("reread_asks") + wire.close("S", "reread_asks") + wire.close("P",
    "reread_asks") + wire.SYNC


class Batch:
    """What ran between two ReadyForQuery that the client saw; the states before and behind it."""
    __slots__ = ("texts", "tags", "errors", "before", "after")

    def __init__(self):
        self.texts, self.tags, self.errors, self.before, self.after = [], [], [], None, None


class Transaction:
    __slots__ = ("explicit", "batches", "status", "said", "snapshots", "xid", "isolation", "unseen")

    def __init__(self):
        self.explicit, self.batches, self.status, self.said, self.snapshots = False, [], None, None, []
        self.xid, self.isolation, self.unseen = None, None, False


class Session:
    """One connection of a client."""

    def __init__(self, tap, sock):
        self.tap, self.up, self.up_held, self.down_held = tap, sock, bytearray(), bytearray()
        self.down = socket.create_connection(("127.0.0.1", tap.server))
        for s in (self.up, self.down):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.started, self.own, self.ended = False, False, False
        self.transactions, self.open, self.batch = [], None, Batch()
        self.expected, self.prepared, self.portals, self.status = [], {}, {}, b"I"
        self.last, self.layout_changed, self.name = None, False, ""
        self.number = self.ended_at = 0

    def close(self):
        self.ended = True
        for s in (self.up, self.down):
            self.tap.poll.unregister(s)
            del self.tap.by_fd[s.fileno()]
            s.close()
        self.end("aborted")

    def end(self, status):
        if self.open:
            self.open.status = status
            self.open = None

    def transaction(self):
        if self.open is None:
            self.open = Transaction()
            self.transactions.append(self.open)
        return self.open

    # ---- from the client

    def from_up(self):
        data = self.up.recv(1 << 18)
        if not data:
            return self.close()
        self.up_held += data
        if not self.started:
            return self.start()
        came = wire.whole(self.up_held)
        if came and self.status == b"I" and not self.expected and self.batch.before is None:
            self.batch.before = self.tap.committed()
        for kind, one in came:
            if kind == b"Q":
                self.expected.append((b"Q", one[5:-1].decode(errors="replace"), False))
            elif kind == b"P":
                name, sql = one[5:].split(b"\0", 2)[:2]
                self.prepared[name] = sql.decode(errors="replace")
            elif kind == b"B":
                portal, name = one[5:].split(b"\0", 2)[:2]
                self.portals[portal] = self.prepared.get(name, "?")
            elif kind == b"E":
                portal = one[5:].split(b"\0", 1)[0]
                self.expected.append((b"E", self.portals.get(portal, "?"),
                                      portal.startswith(PROXY_ASKS)))
            elif kind == b"S":
                self.expected.append((b"S", "", False))
            elif kind == b"F":
                self.expected.append((b"Q", "", False))
        if came:
            self.down.sendall(b"".join(one for _, one in came))

    def start(self):
        for _, one in wire.whole(self.up_held, False):
            code = struct.unpack_from("!i", one, 4)[0]
            self.down.sendall(one)
            if code == 80877103:  # SSLRequest: the server has no TLS
                self.up.sendall(self.down.recv(1))
            else:
                self.started = True
                fields = one[8:].split(b"\0")
                self.name = dict(zip(fields[::2], fields[1::2])).get(b"application_name",
                    b"").decode(errors="replace")

    # ---- from the server

    def from_down(self):
        data = self.down.recv(1 << 18)
        if not data:
            return self.close()
        self.down_held += data
        out = []
        for kind, one in wire.whole(self.down_held):
            if kind == b"D":
                if self.expected and self.expected[0][2] and self.open:
                    self.proxy_asked(wire.row(one[5:]))
            elif kind in b"CIsV":  # V: of a function that is called
                self.completed(one[5:-1].decode() if kind == b"C" else "")
            elif kind == b"E":
                self.failed(wire.error(one[5:]))
            elif kind == b"Z":
                if self.expected:
                    self.expected.pop(0)
                self.status = one[5:6]
                if not self.expected and not self.down_held:
                    if out:  # notices and results first: the question has to be alone
                        self.up.sendall(b"".join(out))
                        out = []
                    self.ready()
                elif not self.expected:
                    self.ready()
            out.append(one)
        if out:
            self.up.sendall(b"".join(out))

    def proxy_asked(self, values):
        if values and values[0] and re.fullmatch(rb"\d+:\d+:[\d,]*", values[0]):
            self.open.said = values[0].decode()

    def completed(self, tag):
        if not self.expected:
            return
        kind, sql, own = self.expected[0]
        if kind == b"E":
            self.expected.pop(0)
        if own:
            return
        t = self.transaction()
        self.batch.texts.append(sql)
        self.batch.tags.append(tag)
        if LAYOUT_CHANGES.match(tag) or (tag.startswith("SELECT")
                                         and re.search(r"\bINTO\b", sql, re.I)):
            self.layout_changed = True
        if not t.batches or t.batches[-1] is not self.batch:
            t.batches.append(self.batch)
        if tag in ("BEGIN", "START TRANSACTION"):
            t.explicit = True
        elif tag in ("COMMIT", "PREPARE TRANSACTION") or tag == "ROLLBACK":
            pieces = sql.split(";")
            mine = pieces[min(self.batch.texts.count(sql),
                              len(pieces)) - 1] if kind == b"Q" and len(pieces) > 2 else sql
            if tag == "ROLLBACK" and re.search(r"\bTO\b", mine, re.I):
                return
            self.end({"COMMIT": "committed", "ROLLBACK": "aborted"}.get(tag, "unknown"))
            if len(pieces) > 2 or re.search(r"AND\s+CHAIN", mine, re.I):
                self.tap.snapshot_known = None  # nobody asks between this transaction and the next
            if re.search(r"AND\s+CHAIN", mine, re.I):
                self.transaction().explicit = True

    def failed(self, text):
        if self.expected and not self.expected[0][2]:
            t = self.transaction()
            if not t.batches or t.batches[-1] is not self.batch:
                t.batches.append(self.batch)
            if self.expected[0][0] != b"S":
                self.batch.texts.append(self.expected[0][1])
                self.batch.tags.append("")
        self.batch.errors.append(text)
        while self.expected and self.expected[0][0] == b"E":
            self.expected.pop(0)

    def ready(self):
        batch, t = self.batch, self.open
        if not batch.texts and not batch.errors:
            return
        if self.status == b"T" and t and any(not SILENT.match(tag) for tag in batch.tags):
            batch.after = self.ask(t)
            t.unseen |= batch.after is None
            if batch.before is None or t.batches[:1] != [batch]:
                batch.before = self.last
            if batch.before is None and len(batch.texts) > 1:  # the transaction's first: others write nothing
                batch.before = self.tap.committed()
            self.last = batch.after
        elif self.status == b"E" and t and batch.errors:
            batch.after = batch.before = self.last or self.tap.committed()
        if self.status == b"I":
            if self.layout_changed:
                self.tap.look_again()
            if any(not SILENT.match(tag) for tag in batch.tags) or batch.errors:
                batch.after = self.tap.committed()
                if t:
                    t.unseen |= batch.after is None
            if t:
                self.end("aborted" if batch.errors else "committed")
            ended = t or (self.transactions and self.transactions[-1])
            if len(batch.texts) == 1 and ended and ended.xid and ended.status == "aborted" and not self.layout_changed:
                self.tap.nothing_changed()
            self.last, self.layout_changed = None, False
        self.batch = Batch()

    def ask(self, t):
        dynamic = self.layout_changed or self.tap.dynamic
        given = (self.tap.snapshot_known, self.tap.shape if dynamic else None)
        self.down.sendall(ASK + wire.bind("reread_asks", "reread_asks", given, (), (1,)) + ASKED)
        answer, over, held, beside = None, False, bytearray(), []
        while not over:
            more = self.down.recv(1 << 18)
            if not more:
                return None
            held += more
            for kind, one in wire.whole(held):
                if kind == b"D":
                    answer = wire.row(one[5:])[0].decode()
                elif kind == b"E":
                    self.tap.questions_failed.append(wire.error(one[5:]))
                elif kind == b"Z":
                    over = True
                    if one[5:6] != self.status:
                        self.tap.questions_failed.append("status is %r" % one)
                elif kind in b"NAS":
                    beside.append(one)
        if beside:
            self.up.sendall(b"".join(beside))
        if answer is None:
            return None
        snapshot, xid, isolation, *rest = answer.split(" ", 3)
        t.isolation = isolation
        t.snapshots.append(snapshot)
        if xid != "-":
            t.xid = xid
        if not (rest and rest[0]):
            return self.tap.by_snapshot[snapshot]
        self.tap.dumps += 1
        state = states.State(rest[0], self.tap.layout)
        if xid == "-" and not self.layout_changed:
            self.tap.by_snapshot = {snapshot: state}
            self.tap.snapshot_known = snapshot
        return state


class Tap:
    def __init__(self, server, side):
        self.server, self.side = server, side
        self.layout, self.shape = states.install(side)
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.listener.listen(64)
        self.poll = select.poll()
        self.poll.register(self.listener, select.POLLIN)
        self.by_fd, self.sessions, self.questions_failed, self.accepted = {}, [], [], 0
        self.by_snapshot, self.snapshot_known, self.dynamic, self.is_other = {}, None, False, False
        self.dumps = self.dumps_committed = 0

    def layout_is_new(self):
        self.layout, self.shape = states.install(self.side)
        self.by_snapshot, self.snapshot_known = {}, None

    def look_again(self):
        """Behind what may have changed tables."""
        if self.side.ask("SELECT reread.shape()")[0][0] != self.shape:
            self.layout, self.shape = states.refresh(self.side)
            self.by_snapshot, self.snapshot_known = {}, None
            self.is_other = True

    def has_changed(self):
        """Whether tables or what belongs to them are others than at the session's start."""
        if self.dynamic:
            self.look_again()
            self.dynamic = False
        return self.is_other

    def nothing_changed(self):
        """A transaction that wrote was rolled back: the rows are as before, though snapshots have another name."""
        if self.snapshot_known:
            now = self.side.ask("SELECT pg_current_snapshot()")[0][0]
            self.by_snapshot, self.snapshot_known = {now: self.by_snapshot[self.snapshot_known]}, now

    def committed(self):
        """The state that a transaction which began now would see."""
        try:
            answer = self.side.ask_with("SELECT convert_from(reread.asked($1, $2), 'UTF8')",
                                        (self.snapshot_known, self.shape if self.dynamic else None))[0][0]
        except wire.Failed as e:  # a user's function that refuses to be called: nothing can be said
            self.questions_failed.append(str(e))
            return None
        snapshot, _, _, *rest = answer.split(" ", 3)
        if rest and rest[0]:
            self.dumps_committed += 1
            self.by_snapshot, self.snapshot_known = {snapshot: states.State(rest[0],
                self.layout)}, snapshot
        return self.by_snapshot[snapshot]

    def serve(self, fd):
        """Something came at this descriptor: passes it on."""
        if fd == self.listener.fileno():
            session = Session(self, self.listener.accept()[0])
            self.sessions.append(session)
            self.accepted += 1
            session.number = self.accepted
            for s in (session.up, session.down):
                self.poll.register(s, select.POLLIN)
                self.by_fd[s.fileno()] = session
            return
        session = self.by_fd.get(fd)
        if session is None or session.ended:
            return
        try:
            if fd == session.up.fileno():
                session.from_up()
            else:
                session.from_down()
        except ConnectionError:
            session.close()

    def turn(self, seconds):
        """Waits until something comes, and passes it on. Gives whether something came."""
        ready = self.poll.poll(seconds * 1000)
        for fd, _ in ready:
            self.serve(fd)
        return bool(ready)
