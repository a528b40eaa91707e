"""The logical stream of a database: what each committed transaction changed."""
import struct

from state import name_of

SLOT, PUBLICATION = "reread", "reread"


class Stream:
    def __init__(self, side):
        self.side, self.relations, self.changes = side, {}, {}
        side.ask("CREATE PUBLICATION %s FOR ALL TABLES WITH (publish_via_partition_root = true)"
                 % PUBLICATION)
        side.ask("SELECT pg_create_logical_replication_slot('%s', 'pgoutput')" % SLOT)

    def take(self):
        """Adds to `changes` what was committed since: {xid: [(I, U, D or T, table, old row, new row)]}."""
        rows = self.side.ask("SELECT xid, encode(data, 'hex') FROM pg_logical_slot_get_binary_changes('%s', NULL, NULL, "
                             "'proto_version', '1', 'publication_names', '%s')"
                             % (SLOT, PUBLICATION))
        for xid, data in rows:
            data = bytes.fromhex(data)
            kind = data[:1]
            if kind == b"R":
                self.relation(data)
            elif kind in b"IUD":
                name, columns = self.relations[struct.unpack_from("!I", data, 1)[0]]
                old, new = changed(data, columns)
                self.changes.setdefault(xid, []).append((kind.decode(), name, old, new))

    def relation(self, data):
        schema, rest = data[5:].split(b"\0", 1)
        name, rest = rest.split(b"\0", 1)
        at, columns = 3, []
        for _ in range(struct.unpack_from("!h", rest, 1)[0]):
            end = rest.index(b"\0", at + 1)
            columns.append(rest[at + 1:end].decode())
            at = end + 9
        self.relations[struct.unpack_from("!I", data, 1)[0]] = (
            name_of((schema or b"pg_catalog").decode(), name.decode()), columns)


def changed(data, columns):
    at, rows = 5, {}
    while at < len(data):
        which, count = data[at:at + 1], struct.unpack_from("!h", data, at + 1)[0]
        at += 3
        values = []
        for _ in range(count):
            kind = data[at:at + 1]
            at += 1
            if kind in b"tb":
                size = struct.unpack_from("!i", data, at)[0]
                values.append(data[at + 4:at + 4 + size].decode(errors="replace"))
                at += 4 + size
            else:
                values.append(None)
        rows[which] = dict(zip(columns, values))
    return rows.get(b"K") or rows.get(b"O"), rows.get(b"N")
