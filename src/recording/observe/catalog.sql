-- What is asked of PostgreSQL's catalogs, as strings of C: behind "== NAME" stands what the macro
-- NAME is, and {NAME} is what stands there. Whatever a client's search_path is, each name means
-- PostgreSQL's own.

-- Relations and, for each partition, those that it is a part of. Temporary ones are left out: they
-- come and go, and are another session's or asked for apart. Between the two parts a check says
-- which names it is about.
== RELATIONS_BEGIN
WITH RECURSIVE s(oid, root) AS (
    SELECT oid, oid FROM pg_catalog.pg_class
    WHERE oid >= 16384 AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND relpersistence <> 't'
== RELATIONS_END
    UNION ALL
    SELECT i.inhrelid, s.root FROM s JOIN pg_catalog.pg_inherits i ON i.inhparent = s.oid
    JOIN pg_catalog.pg_class p ON p.oid = i.inhrelid AND p.relispartition)

-- Their rows in the catalogs, each as a letter, its place and its xmin; of pg_class what matters of
-- it, as TRUNCATE and the like write that, too, and its xmin where policies may be switched on and
-- off. And, of relation 0, what is no relation's; the
-- rules of views among it, as one view may be made of another.
== ROWS
(SELECT s.root AS relation, pg_catalog.concat_ws('.', 'c', p.oid, relnamespace, relkind, relname,
    relhassubclass, relhasrules, relhastriggers, relrowsecurity, relispartition, relpersistence,
    relreplident, CASE WHEN l.polrelid IS NOT NULL THEN p.xmin END) AS t
    FROM s JOIN pg_catalog.pg_class p ON p.oid = s.oid
    LEFT JOIN (SELECT DISTINCT polrelid FROM pg_catalog.pg_policy) l ON l.polrelid = p.oid
UNION ALL SELECT s.root, 'a' || x.attnum || '.' || x.xmin
    FROM s JOIN pg_catalog.pg_attribute x ON x.attrelid = s.oid AND x.attnum > 0
UNION ALL SELECT s.root, 'i' || x.indexrelid || '.' || x.xmin
    FROM s JOIN pg_catalog.pg_index x ON x.indrelid = s.oid
UNION ALL SELECT s.root, 'k' || x.oid || '.' || x.xmin
    FROM s JOIN pg_catalog.pg_constraint x ON x.conrelid = s.oid
UNION ALL SELECT s.root, 't' || x.oid || '.' || x.xmin
    FROM s JOIN pg_catalog.pg_trigger x ON x.tgrelid = s.oid
UNION ALL SELECT s.root, 'd' || x.oid || '.' || x.xmin
    FROM s JOIN pg_catalog.pg_attrdef x ON x.adrelid = s.oid
UNION ALL SELECT s.root, 'h' || x.inhrelid || '.' || x.xmin
    FROM s JOIN pg_catalog.pg_inherits x ON x.inhparent = s.oid
UNION ALL SELECT 0, 'k' || oid || '.' || xmin FROM pg_catalog.pg_constraint WHERE conrelid = 0
UNION ALL SELECT 0, 'w' || oid || '.' || xmin FROM pg_catalog.pg_rewrite WHERE oid >= 16384
UNION ALL SELECT 0, 'l' || oid || '.' || xmin FROM pg_catalog.pg_policy
UNION ALL SELECT 0, 'f' || oid || '.' || xmin FROM pg_catalog.pg_proc WHERE oid >= 16384
UNION ALL SELECT 0, 'o' || oid || '.' || xmin FROM pg_catalog.pg_operator WHERE oid >= 16384
UNION ALL SELECT 0, 'v' || oid || '.' || xmin FROM pg_catalog.pg_opclass WHERE oid >= 16384
UNION ALL SELECT 0, 's' || oid || '.' || xmin FROM pg_catalog.pg_cast WHERE oid >= 16384
UNION ALL SELECT 0, 'y' || oid || '.' || xmin FROM pg_catalog.pg_type
    WHERE oid >= 16384 AND typtype <> 'c' AND typcategory <> 'A'
UNION ALL SELECT 0, 'n' || oid || '.' || xmin FROM pg_catalog.pg_namespace
    WHERE pg_catalog.left(nspname, 3) <> 'pg_'
UNION ALL SELECT 0, 'p' || oid || '.' || xmin FROM pg_catalog.pg_publication
UNION ALL SELECT 0, 'q' || oid || '.' || xmin FROM pg_catalog.pg_publication_rel
UNION ALL SELECT 0, 'm' || oid || '.' || xmin FROM pg_catalog.pg_publication_namespace) g

-- Of hashes of 39 bits each: sums of millions fit.
== SUM
pg_catalog.sum((pg_catalog.hashtextextended(t, 0) >> 25) + 274877906944)

-- A dependency on what a user made and could write.
== USERS
(p.refobjid >= 16384 AND p.refclassid IN ('pg_catalog.pg_proc'::pg_catalog.regclass,
    'pg_catalog.pg_operator'::pg_catalog.regclass, 'pg_catalog.pg_opclass'::pg_catalog.regclass))

-- Relations of which something else happens when they are written: a trigger, also one of a
-- partition; a foreign key that changes the other side; a user's function in a default, a check, an
-- index or a domain.
== NOT_ALONE
(SELECT t.tgrelid FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal
UNION ALL
SELECT coalesce(pg_catalog.pg_partition_root(t.tgrelid)::pg_catalog.oid, t.tgrelid)
FROM pg_catalog.pg_trigger t WHERE NOT t.tgisinternal
UNION ALL
SELECT coalesce(pg_catalog.pg_partition_root(f.confrelid)::pg_catalog.oid, f.confrelid)
FROM pg_catalog.pg_constraint f
WHERE f.contype = 'f' AND (f.confdeltype IN ('c', 'n', 'd') OR f.confupdtype IN ('c', 'n', 'd'))
UNION ALL
SELECT coalesce(pg_catalog.pg_partition_root(y.relation)::pg_catalog.oid, y.relation) FROM (
    WITH x AS MATERIALIZED (
        SELECT adrelid AS relation, 'pg_catalog.pg_attrdef'::pg_catalog.regclass AS class, oid
        FROM pg_catalog.pg_attrdef WHERE oid >= 16384
        UNION ALL
        SELECT conrelid, 'pg_catalog.pg_constraint', oid
        FROM pg_catalog.pg_constraint WHERE conrelid >= 16384
        UNION ALL
        SELECT indrelid, 'pg_catalog.pg_class', indexrelid
        FROM pg_catalog.pg_index WHERE indexrelid >= 16384
        UNION ALL
        SELECT u.attrelid, 'pg_catalog.pg_constraint', k.oid FROM pg_catalog.pg_constraint k
        JOIN pg_catalog.pg_attribute u ON u.atttypid = k.contypid WHERE k.contypid >= 16384
        UNION ALL
        SELECT u.attrelid, 'pg_catalog.pg_type', y.oid FROM pg_catalog.pg_type y
        JOIN pg_catalog.pg_attribute u ON u.atttypid = y.oid
        WHERE y.typtype = 'd' AND y.oid >= 16384)
    SELECT x.relation FROM x
    JOIN pg_catalog.pg_depend p ON p.classid = x.class AND p.objid = x.oid
    WHERE {USERS} OR p.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
        AND p.refclassid = p.classid AND p.refobjid >= 16384) y)

-- Views and tables with policies that a function of a user's could run in.
== NOT_PLAIN
(SELECT w.ev_class FROM pg_catalog.pg_rewrite w
JOIN pg_catalog.pg_depend p
    ON p.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND p.objid = w.oid
LEFT JOIN pg_catalog.pg_class r
    ON p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND r.oid = p.refobjid
WHERE w.ev_class >= 16384 AND w.ev_type = '1'
    AND ({USERS} OR r.oid <> w.ev_class AND r.oid >= 16384 AND (r.relkind NOT IN ('r', 'p', 'm') OR r.relrowsecurity))
UNION ALL
SELECT l.polrelid FROM pg_catalog.pg_policy l
JOIN pg_catalog.pg_depend p
    ON p.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass AND p.objid = l.oid
WHERE {USERS}
    OR p.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND p.refobjid <> l.polrelid)

-- Tables of which a publication leaves rows or changes out (which one a stream is of nobody knows);
-- and those whose key a stream does not have (it is generated), or does not know rows by, also of a
-- partition.
== LACKING
(SELECT coalesce(pg_catalog.pg_partition_root(q.prrelid)::pg_catalog.oid, q.prrelid)
FROM pg_catalog.pg_publication_rel q WHERE q.prqual IS NOT NULL
UNION ALL
SELECT coalesce(pg_catalog.pg_partition_root(t.relid)::pg_catalog.oid, t.relid)
FROM pg_catalog.pg_publication p, pg_catalog.pg_get_publication_tables(p.pubname) t
WHERE NOT (p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate)
UNION ALL
SELECT coalesce(pg_catalog.pg_partition_root(r.oid)::pg_catalog.oid, r.oid)
FROM pg_catalog.pg_class r
JOIN pg_catalog.pg_index x ON x.indrelid = r.oid AND x.indisprimary AND r.oid >= 16384
WHERE r.relreplident = 'n' OR r.relreplident = 'i' AND NOT x.indisreplident
    OR EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = r.oid
        AND a.attnum = ANY (x.indkey) AND a.attgenerated <> ''))

-- Users' functions, operators, casts and types that could be meant in place of PostgreSQL's own, and
-- functions that sort or hash values of users' types and are neither internal (12) nor in C (13).
== SHADOWS
(SELECT 'f' AS kind, proname AS name, NOT 16384 <= ANY
    ((proargtypes::pg_catalog.oid[])[0:pronargs - pronargdefaults - 1]) AS own
FROM pg_catalog.pg_proc WHERE oid >= 16384
UNION ALL
SELECT 'o', oprname, oprleft < 16384 AND oprright < 16384
FROM pg_catalog.pg_operator WHERE oid >= 16384
UNION ALL
SELECT 'c', '', castsource < 16384 AND (casttarget < 16384 OR castcontext = 'i')
FROM pg_catalog.pg_cast WHERE oid >= 16384
UNION ALL
SELECT 'k', '', false FROM pg_catalog.pg_opclass c
JOIN pg_catalog.pg_amproc a ON a.amprocfamily = c.opcfamily
JOIN pg_catalog.pg_proc f ON f.oid = a.amproc
WHERE c.oid >= 16384 AND f.oid >= 16384
    AND f.prolang NOT IN (12, 13)
UNION ALL
SELECT 't', t.typname, true FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_type b ON b.typname = t.typname AND b.oid < 16384 WHERE t.oid >= 16384) s

-- As texts; in one row a column of a table, or a relation of the system's, or (oid 0) a shadow or
-- the generation of what is no relation's. A server without pg_current_snapshot fails here, and not
-- in a client's transaction.
== CATALOG
{RELATIONS_BEGIN}{RELATIONS_END},
g AS MATERIALIZED (SELECT relation, {SUM} AS sum FROM {ROWS} GROUP BY relation)
SELECT c.oid, n.nspname, c.relname,
    (c.relkind = 'r' AND NOT c.relispartition AND NOT c.relhassubclass
        OR c.relkind = 'p' AND NOT c.relispartition
            AND EXISTS (SELECT 1 FROM pg_catalog.pg_publication WHERE pubviaroot))
    AND c.relpersistence = 'p'
    AND (c.oid IN (SELECT relid FROM pg_catalog.pg_publication p,
            pg_catalog.pg_get_publication_tables(p.pubname))
        OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_publication))
    AND c.oid NOT IN {LACKING},
    c.relrowsecurity, a.attnum, a.attname, a.atttypid, i.key,
    CASE WHEN NOT o.collisdeterministic THEN 'f' WHEN o.collprovider <> 'd' THEN 'e' ELSE 't' END,
    NOT c.relhasrules AND NOT c.relrowsecurity AND c.oid NOT IN {NOT_ALONE},
    c.relkind IN ('r', 'p', 'm', 'v', 'S') AND c.oid NOT IN {NOT_PLAIN},
    CASE WHEN a.atttypid < 16384 THEN '' WHEN y.typtype = 'e' THEN 'e' ELSE 'u' END,
    CASE WHEN a.atttypid = 1043 AND a.atttypmod > 4 THEN a.atttypmod - 4 ELSE 0 END,
    NOT c.relhasrules, g.sum
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped AND a.attnum > 0
JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
LEFT JOIN g ON g.relation = c.oid
LEFT JOIN (SELECT indrelid,
        pg_catalog.array_to_string((indkey::pg_catalog.int2[])[0:indnkeyatts - 1], ' ') AS key
    FROM pg_catalog.pg_index WHERE indisprimary AND indimmediate AND indisvalid) i
    ON i.indrelid = c.oid
LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation
WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND pg_catalog.left(n.nspname, 8) <> 'pg_temp_' AND n.nspname <> 'pg_toast'
    AND pg_catalog.pg_current_snapshot() IS NOT NULL
UNION ALL
SELECT c.oid, n.nspname, c.relname, false, c.relrowsecurity, 1, '', 0, '', '',
    NOT c.relhasrules AND NOT c.relrowsecurity, c.relkind IN ('r', 'p', 'm', 'v', 'S'), '', 0,
    NOT c.relhasrules, NULL
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid < 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname <> 'pg_toast'
UNION ALL
SELECT 0, kind, name, pg_catalog.bool_or(own), false, 0, '', 0, '', '', false, false, '', 0,
    false, 0
FROM {SHADOWS} GROUP BY kind, name
UNION ALL
SELECT 0, 'g', '', false, false, 0, '', 0, '', '', false, false, '', 0, false, sum
FROM g WHERE relation = 0 ORDER BY 1, 6

-- Whether this transaction may have written to them, or another of this session within the last
-- second: to pg_type, pg_attribute, pg_proc, pg_class, pg_attrdef, pg_cast, pg_constraint,
-- pg_index, pg_inherits, pg_namespace, pg_opclass, pg_operator, pg_rewrite, pg_trigger, pg_policy.
== CHANGED
pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL
AND (pg_catalog.current_setting('track_counts') <> 'on'
    OR EXISTS (SELECT 1 FROM pg_catalog.pg_class r
        WHERE r.oid = ANY ('{1247,1249,1255,1259,2604,2605,2606,2610,2611,2615,2616,2617,2618,2620,3256}'
            ::pg_catalog.oid[])
        AND (pg_catalog.pg_stat_get_xact_tuples_inserted(r.oid) > 0
            OR pg_catalog.pg_stat_get_xact_tuples_updated(r.oid) > 0
            OR pg_catalog.pg_stat_get_xact_tuples_deleted(r.oid) > 0)))
