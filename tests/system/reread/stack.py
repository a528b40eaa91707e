"""PostgreSQL, the tap before it, the proxy before that, and a client: what a worker runs its sessions on."""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import deque

import state as states
import wire
from judge import Judge
from stream import Stream
from tap import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.join(HERE, "..", "postgres", "cluster.sh")
PORTS = os.path.join(HERE, "..", "..", "support", "free_ports.py")


class Client:
    """The application: sends steps, and keeps of the answers what it needs to go on."""

    def __init__(self, stack, **settings):
        self.stack, self.held, self.status, self.errors, self.begun = stack, bytearray(), b"I", [], None
        self.socket = socket.create_connection(("127.0.0.1", stack.proxy_port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stack.tap.poll.register(self.socket, select.POLLIN)
        self.send(wire.startup(**settings), 1)

    def send(self, data, ready):
        """Whether that many ReadyForQuery came; not if the connection broke, or nothing came for a while."""
        self.errors, self.tags = [], []
        self.socket.sendall(data)
        poll, fd, tap = self.stack.tap.poll, self.socket.fileno(), self.stack.tap
        idle = time.monotonic()
        while ready:
            events = poll.poll(1000)
            if not events and time.monotonic() - idle > 20:
                self.errors.append("nothing came in 20 s")
                return False
            for ready_fd, _ in events:
                idle = time.monotonic()
                if ready_fd != fd:
                    tap.serve(ready_fd)
                    continue
                more = self.socket.recv(1 << 18)
                if not more:
                    self.errors.append("closed")
                    return False
                self.held += more
                for kind, one in wire.whole(self.held):
                    if kind == b"Z":
                        ready -= 1
                        self.status = one[5:6]
                    elif kind == b"E":
                        self.errors.append(wire.error(one[5:]))
                    elif kind == b"C":
                        self.tags.append(one[5:-1].decode(errors="replace"))
                    elif kind == b"G":
                        self.socket.sendall(wire.message(b"c"))
        return True

    def close(self):
        self.stack.tap.poll.unregister(self.socket)
        try:
            self.socket.sendall(wire.message(b"X"))
        except OSError:
            pass
        self.socket.close()


class Stack:
    def __init__(self, proxy, schema=None):
        self.work = tempfile.mkdtemp(prefix="reread.")
        os.chmod(self.work, 0o755)
        address = subprocess.run([CLUSTER, "start", os.path.join(self.work, "pg")], check=True,
                                 stdout=subprocess.PIPE).stdout.decode()
        self.port = int(dict(word.split("=") for word in address.split())["port"])
        self.side = wire.Connection(self.port, TimeZone="UTC", application_name="reread beside",
                                    lock_timeout="300")
        self.proxy_path, self.proxy, self.read_to = proxy, None, 0
        self.schema = schema
        if schema:
            self.side.ask(schema)
            self.side.ask("ANALYZE")
        self.stream = Stream(self.side)
        self.tap = Tap(self.port, self.side)
        self.judge = Judge(self.side)
        self.records, self.pending, self.number = {}, deque(), 0
        self.untrue, self.counts = [], {}
        self.start_proxy()

    def count(self, name, many=1):
        self.counts[name] = self.counts.get(name, 0) + many

    def start_proxy(self):
        self.proxy_port, self.status_port = map(int, subprocess.check_output([PORTS, "2"]).split())
        self.file = os.path.join(self.work, "records.jsonl")
        self.log = open(os.path.join(self.work, "proxy.log"), "w")
        self.proxy = subprocess.Popen(
            [self.proxy_path, "--bind", str(self.proxy_port), "--server", str(self.tap.port),
             "--to", self.file, "--sid", "p", "--threads", "1",
             "--shapes", "--listen", str(self.status_port)], stdout=self.log, stderr=self.log,
                                      stdin=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.status_port)).close()
                return
            except OSError:
                if self.proxy.poll() is not None:
                    break
                time.sleep(0.02)
        raise SystemExit("the proxy does not start: " + open(self.log.name).read())

    def processor(self):
        """Seconds of processor time: this process, proxy, PostgreSQL."""
        ticks = os.sysconf("SC_CLK_TCK")

        def spent(pid):
            with open("/proc/%d/stat" % pid) as f:
                return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15])) / ticks
        with open(os.path.join(self.work, "pg", "data", "postmaster.pid")) as f:
            postmaster = int(f.readline())
        with open("/proc/%d/task/%d/children" % (postmaster, postmaster)) as f:
            server = spent(postmaster)
            for pid in f.read().split():
                try:
                    server += spent(int(pid))
                except FileNotFoundError:
                    pass
        return {"client": sum(os.times()[:2]), "proxy": spent(self.proxy.pid), "server": server}

    def stop_proxy(self):
        self.proxy.send_signal(signal.SIGTERM)
        try:
            self.proxy.wait(20)
        except subprocess.TimeoutExpired:
            self.proxy.kill()

    def other_proxy(self, path):
        """In place of the one that runs; its sessions are counted from 1 on again."""
        self.stop_proxy()
        while self.tap.turn(0):
            pass
        if os.path.exists(self.file):
            os.unlink(self.file)
        self.records.clear()
        self.proxy_path, self.read_to, self.number = path, 0, 0
        self.start_proxy()

    def stop(self, shapes=None):
        if self.proxy:
            self.stop_proxy()
        if shapes:
            shutil.copy(self.log.name, shapes)
        self.side.close()
        subprocess.run([CLUSTER, "stop", os.path.join(self.work, "pg")], check=False)
        shutil.rmtree(self.work, ignore_errors=True)

    # ---- the schema

    def reset(self, whole):
        """The rows as at the start; the tables, too, if they were changed."""
        if whole:
            self.side.ask("DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname IN ('public', 'shop', 'other', 'Odd Name', "
                          "'reread') LOOP EXECUTE format('DROP SCHEMA %I CASCADE', s); END LOOP; CREATE SCHEMA public; "
                          "GRANT ALL ON SCHEMA public TO PUBLIC; END $$; DROP ROLE IF EXISTS reread_plain; ALTER ROLE postgres RESET ALL")
            self.side.ask(self.schema)
            self.tap.layout_is_new()
            self.resets += 1
            # nothing else does: catalogs grow, and with them what everybody asks of them
            self.side.ask("ANALYZE" if self.resets % 4 else "VACUUM ANALYZE")
        elif self.saved is None:
            self.save()
        else:
            self.side.ask(self.saved)
        self.tap.dynamic = self.tap.is_other = False

    saved, resets = None, 0

    def save(self):
        """How the rows are brought back: without triggers and rules."""
        tables = [name for name, one in self.tap.layout.items()]
        parts = ["BEGIN", "SET LOCAL session_replication_role = replica"]
        dump = subprocess.run(["pg_dump", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres",
                               "--data-only", "--inserts",
                               "--rows-per-insert=100", "--exclude-schema=reread", "postgres"],
                              check=True, stdout=subprocess.PIPE).stdout.decode()
        others = ("--", "\\", "SET ", "SELECT pg_catalog.set_config", "REFRESH")
        rows = [line for line in dump.split("\n") if not line.startswith(others)]
        parts += ["DELETE FROM ONLY %s" % t for t in self.quoted(tables)]
        self.saved = "; ".join(parts) + ";" + "\n".join(rows) + "COMMIT;"

    def quoted(self, tables):
        return [r[0] for r in self.side.ask("SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                                            "WHERE relkind = 'r' AND nspname IN ('public', 'shop', 'Odd Name')")]

    # ---- records

    def take_records(self):
        with open(self.file, "rb") as f:
            f.seek(self.read_to)
            data = f.read()
        for line in data.split(b"\n")[:-1]:
            self.read_to += len(line) + 1
            if not line.strip():  # blanks fill a page
                continue
            record = json.loads(line)
            self.records.setdefault(int(record["sid"].rsplit("/", 1)[1]), []).append(record)
            self.count("records")

    def wait_for_records(self):
        """Until the proxy has no session and has written what it took."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with socket.create_connection(("127.0.0.1", self.status_port)) as s:
                s.sendall(b"GET /status HTTP/1.0\r\nHost: localhost\r\n\r\n")
                answer = b""
                while more := s.recv(1 << 16):
                    answer += more
            said = json.loads(answer.split(b"\r\n\r\n", 1)[1])
            if not said["sessions"] and said["records"] == said["written"]:
                return
            time.sleep(0.01)
        raise SystemExit("the proxy does not write its records: %s" % said)

    def settle(self, everything=False):
        """Judges the sessions whose records must have come by now. Gives [(session, untrue)]."""
        found = []
        if everything:
            self.wait_for_records()
        self.take_records()
        self.stream.take()
        now = time.monotonic()
        while self.pending and (everything or now - self.pending[0].ended_at > 0.6):
            session = self.pending.popleft()
            for record, t in self.matched(self.records.pop(session.number, []), session):
                self.count("operations", len(record["ops"]))
                for op in record["ops"]:
                    self.count("of " + states.decode(op["table"] if op["t"] == "q" else
                                                     (op.get("row") or op["k"]).rpartition("/")[0]))
                if t is None:
                    if record["ops"] or record.get("xid"):  # else it says nothing
                        found.append((session, ("a record of no transaction", record, None)))
                    continue
                self.count("judged", 1)
                bad = self.judge.record(record, t, self.stream.changes)
                found += [(session, one) for one in bad]
        if not self.pending and not self.tap.sessions:  # who still works is judged later
            self.stream.changes.clear()
        return found

    def matched(self, records, session):
        """Each record with its transaction: both are in the session's order, and most fit no other way."""
        all_ = session.transactions
        best = [[0] * (len(all_) + 1) for _ in range(len(records) + 1)]
        fits = [[self.fit(record, t) and 2 * self.fit(record, t) + self.is_likely(record, t) for t in all_]
                for record in records]
        for i in range(len(records) - 1, -1, -1):
            for j in range(len(all_) - 1, -1, -1):
                both = fits[i][j] and fits[i][j] + best[i + 1][j + 1]
                best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
        i = j = 0
        while i < len(records):
            if j < len(all_) and fits[i][j] and best[i][j] == fits[i][j] + best[i + 1][j + 1]:
                yield records[i], all_[j]
                i, j = i + 1, j + 1
            elif j < len(all_) and best[i][j] == best[i][j + 1]:
                j += 1
            else:
                yield records[i], None
                i += 1

    def is_likely(self, record, t):
        """Without an xid several transactions may be meant: then one of which the record is true."""
        return bool(record.get("xid")) or not self.judge.record(record, t, self.stream.changes)

    @staticmethod
    def fit(record, t):
        """0: it cannot be the record of this transaction."""
        if record["status"] != t.status and record["status"] != "unknown":
            return 0
        if not t.explicit and t.status != "committed":  # a single statement that failed has no record
            return 0
        if record.get("snapshot", t.said) != t.said or (record.get("xid") and record["xid"] != t.xid
                                                        and not (t.unseen and t.xid is None)):
            return 0
        if not record["ops"]:
            return (1 if t.said and not record.get("snapshot") else 2) if t.explicit else 0
        text = " ".join(x for b in t.batches for x in b.texts).lower()
        named = [states.decode(op["table"] if op["t"] == "q" else
                               (op.get("row") or op["k"]).rpartition("/")[0])
                 for op in record["ops"]]
        known = sum(name.split(".")[-1].lower() in text for name in named)
        return 2 * len(named) + 4 * known if known or t.explicit else 0
