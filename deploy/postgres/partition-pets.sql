-- Makes pets a table with a partition for each 50,000,000 ids, while the service runs; PostgreSQL 17 or newer. As the owner
-- of the tables, past a pooler: psql --file=deploy/postgres/partition-pets.sql. No step holds a lock for long. The script
-- stops at the first error, such as a lock that it does not get within two seconds, and pets is then whole, with every
-- animal. Run it again: it does what is left to do. Until then pets may have the constraint pets_first_ids, with room for
-- the next 50,000,000 ids. Ids of a million a second would take 50 seconds to leave a partition: two more stand ready, and
-- one for whatever comes after them.
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET lock_timeout = '2s';
-- New tables go where pets is.
SELECT set_config('search_path', relnamespace::regnamespace::text, false) FROM pg_class WHERE oid = 'pets'::regclass \gset

-- Step 1: all rows there are, and those of the next 50,000,000 ids at least, belong to the first partition.
DO $$
DECLARE
  size bigint := coalesce(nullif(current_setting('petstore.partition_size', true), ''), '50000000')::bigint;
  bound bigint := ((SELECT coalesce(max(id), 0) FROM pets) / size + 2) * size;
  hindrances text;
BEGIN
  IF (SELECT relkind = 'p' FROM pg_class WHERE oid = 'pets'::regclass) THEN
    RAISE NOTICE 'pets is partitioned already.';
    RETURN;
  END IF;
  IF current_setting('server_version_num')::int < 170000 THEN
    RAISE EXCEPTION 'PostgreSQL 17 or newer is needed; this is %.', current_setting('server_version');
  END IF;
  SELECT string_agg(what, ', ' ORDER BY what) INTO hindrances FROM (
    WITH parts AS (SELECT 'pets'::regclass AS part UNION SELECT relid FROM pg_partition_tree('pets'))
    SELECT pg_describe_object(classid, objid, objsubid) AS what FROM pg_depend
      WHERE deptype <> 'i'
        AND classid::regclass::text IN ('pg_policy', 'pg_statistic_ext', 'pg_rewrite', 'pg_proc')
        AND (refclassid = 'pg_class'::regclass AND refobjid IN (SELECT part FROM parts)
          OR refclassid = 'pg_type'::regclass AND refobjid IN (SELECT unnest(ARRAY[oid, typarray])
            FROM pg_type WHERE typrelid IN (SELECT part FROM parts)))
    UNION SELECT format('trigger %I', tgname) FROM pg_trigger
      WHERE tgrelid IN (SELECT part FROM parts) AND NOT tgisinternal AND tgname <> 'copy_pet'
    UNION SELECT format('publication %I', pubname) FROM pg_publication_tables JOIN pg_class
        ON relname = tablename AND relnamespace = schemaname::regnamespace
      WHERE oid IN (SELECT part FROM parts)
    UNION SELECT format('subscription %I', subname) FROM pg_subscription JOIN pg_subscription_rel ON srsubid = oid
      WHERE srrelid IN (SELECT part FROM parts)
    UNION SELECT 'index ' || indexrelid::regclass FROM pg_index JOIN parts ON part = indrelid
      WHERE NOT indisvalid
        OR indisunique AND NOT (SELECT attnum FROM pg_attribute WHERE attrelid = part AND attname = 'id') = ANY (indkey)
        OR part <> 'pets'::regclass AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = indexrelid)
    UNION SELECT format('constraint %I', conname) FROM pg_constraint JOIN parts ON part = conrelid
      WHERE contype IN ('x', 't') OR contype = 'f' AND confrelid = conrelid
    UNION SELECT 'inheritance by ' || inhrelid::regclass FROM pg_inherits JOIN pg_class ON oid = inhparent
      WHERE inhparent = 'pets'::regclass AND relkind = 'r'
    UNION SELECT what || oid::regclass FROM pg_class JOIN parts ON part = oid, LATERAL (VALUES
        (relrowsecurity OR relforcerowsecurity, 'row level security of '),
        (relreplident <> 'd', 'the replica identity of '),
        (relpersistence <> 'p', 'the persistence of ')) AS kinds (is_so, what)
      WHERE is_so
  ) AS found;
  IF hindrances IS NOT NULL THEN
    RAISE EXCEPTION 'pets has what would be lost: %', hindrances
      USING HINT = 'Nothing has been changed. Take that away, run the script, and make it again.';
  END IF;
  -- A constraint that an earlier run has left may be close to its bound by now.
  ALTER TABLE pets DROP CONSTRAINT IF EXISTS pets_first_ids;
  EXECUTE format('ALTER TABLE pets ADD CONSTRAINT pets_first_ids CHECK (id < %s) NOT VALID', bound);
END $$;

-- Step 2: reads the table, and lets others read and write it.
DO $$
BEGIN
  IF (SELECT relkind = 'p' FROM pg_class WHERE oid = 'pets'::regclass) THEN RETURN; END IF;
  ALTER TABLE pets VALIDATE CONSTRAINT pets_first_ids;
END $$;

-- Step 3: the table becomes the first partition of a new one. Nothing is read or built.
DO $$
DECLARE
  size bigint := coalesce(nullif(current_setting('petstore.partition_size', true), ''), '50000000')::bigint;
  bound bigint;
  runner text := current_setting('role');
  storage text;
  keys text[];
  belongings text[];
  belonging text;
  it record;
BEGIN
  IF (SELECT relkind = 'p' FROM pg_class WHERE oid = 'pets'::regclass) THEN RETURN; END IF;
  -- In the order in which an order takes them.
  LOCK TABLE pets IN ACCESS EXCLUSIVE MODE;
  FOR it IN SELECT conrelid::regclass AS name, conname FROM pg_constraint
    WHERE contype = 'f' AND confrelid = 'pets'::regclass AND conparentid = 0 ORDER BY 1
  LOOP
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', it.name);
  END LOOP;
  SELECT substring(pg_get_constraintdef(oid) FROM '\d+')::bigint INTO STRICT bound
    FROM pg_constraint WHERE conrelid = 'pets'::regclass AND conname = 'pets_first_ids' AND convalidated;
  SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')',
      set_config('default_tablespace', coalesce(spcname, ''), true)
    INTO storage FROM pg_class LEFT JOIN pg_tablespace ON pg_tablespace.oid = reltablespace
    WHERE pg_class.oid = 'pets'::regclass;
  keys := ARRAY(SELECT format('ALTER TABLE pets ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE contype = 'f' AND conrelid = 'pets'::regclass);
  -- What LIKE does not copy, as statements for the new table.
  belongings := ARRAY(
    SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s%s', conrelid::regclass, conname, pg_get_constraintdef(oid),
        CASE WHEN convalidated THEN ' NOT VALID' END)
      FROM pg_constraint WHERE contype = 'f' AND confrelid = 'pets'::regclass AND conparentid = 0
    UNION ALL SELECT format('GRANT %s ON %s TO %s%s', privilege_type, name,
        CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END)
      FROM (
        SELECT oid::regclass AS name, acl.privilege_type, acl.grantee, acl.is_grantable FROM pg_class,
            aclexplode(coalesce(relacl, acldefault((CASE relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", relowner))) AS acl
          WHERE oid IN ('pets'::regclass, 'pets_id_seq'::regclass)
        UNION ALL SELECT attrelid::regclass, format('%s (%I)', acl.privilege_type, attname), acl.grantee, acl.is_grantable
          FROM pg_attribute, aclexplode(attacl) AS acl WHERE attrelid = 'pets'::regclass
      ) AS grants
    UNION ALL SELECT format('COMMENT ON TABLE pets IS %L', description)
      FROM pg_description WHERE objoid = 'pets'::regclass AND classoid = 'pg_class'::regclass AND objsubid = 0
    UNION ALL SELECT format('ALTER TABLE pets ALTER %I SET STATISTICS %s', attname, attstattarget)
      FROM pg_attribute WHERE attrelid = 'pets'::regclass AND attnum > 0 AND attstattarget >= 0
    UNION ALL SELECT format('ALTER TABLE pets ALTER %I SET (%s)', attname, array_to_string(attoptions, ', '))
      FROM pg_attribute WHERE attrelid = 'pets'::regclass AND attnum > 0 AND attoptions IS NOT NULL);

  FOR it IN SELECT conrelid::regclass AS name, conname FROM pg_constraint
    WHERE contype = 'f' AND confrelid = 'pets'::regclass AND conparentid = 0
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', it.name, it.conname);
  END LOOP;
  -- Whoever runs the script, the new tables are the owner's.
  PERFORM set_config('role', pg_get_userbyid(relowner), true) FROM pg_class WHERE oid = 'pets'::regclass;
  ALTER TABLE pets RENAME TO pets_first;
  ALTER SEQUENCE pets_id_seq RENAME TO pets_first_id_seq;
  CREATE TABLE pets (LIKE pets_first INCLUDING ALL) PARTITION BY RANGE (id);
  ALTER TABLE pets DROP CONSTRAINT pets_first_ids;
  PERFORM setval('pets_id_seq', last_value, is_called) FROM pets_first_id_seq;
  ALTER TABLE pets_first ALTER id DROP IDENTITY;
  -- The indexes of the first partition become those of the whole.
  EXECUTE format('ALTER TABLE pets ATTACH PARTITION pets_first FOR VALUES FROM (MINVALUE) TO (%s)', bound);
  ALTER TABLE pets_first DROP CONSTRAINT pets_first_ids;
  -- The indexes get the names of those that they are like.
  FOR it IN
    WITH indexes AS (
      SELECT indrelid::regclass AS of, indexrelid::regclass AS index, relname AS name, kind,
          row_number() OVER (PARTITION BY indrelid, kind ORDER BY indexrelid) AS nth
        FROM pg_index JOIN pg_class ON oid = indexrelid,
          concat(indisunique, regexp_replace(pg_get_indexdef(indexrelid), '^.*? USING', '')) AS kind
        WHERE indrelid IN ('pets_first'::regclass, 'pets'::regclass))
    SELECT old.index AS old, old.name, new.index AS new FROM indexes old JOIN indexes new USING (kind, nth)
      WHERE old.of = 'pets_first'::regclass AND new.of = 'pets'::regclass
  LOOP
    EXECUTE format('ALTER INDEX %s RENAME TO %I', it.old, regexp_replace(it.name, '^(pets_)?', 'pets_first_'));
    EXECUTE format('ALTER INDEX %s RENAME TO %I', it.new, it.name);
  END LOOP;
  FOREACH belonging IN ARRAY keys LOOP EXECUTE belonging; END LOOP;

  FOR i IN 0..1 LOOP
    EXECUTE format('CREATE TABLE pets_from_%s PARTITION OF pets FOR VALUES FROM (%1$s) TO (%2$s) %3$s',
      bound + i * size, bound + (i + 1) * size, storage);
  END LOOP;
  -- Not a default one: with that PostgreSQL would read the first rows of every partition for a page, not those of the first.
  EXECUTE format('CREATE TABLE pets_beyond PARTITION OF pets FOR VALUES FROM (%s) TO (MAXVALUE) %s', bound + 2 * size, storage);

  PERFORM set_config('role', runner, true);
  -- In place of what ALTER DEFAULT PRIVILEGES has granted.
  FOR it IN SELECT oid::regclass AS name, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS grantee
    FROM pg_class, aclexplode(relacl) WHERE oid IN ('pets'::regclass, 'pets_id_seq'::regclass)
  LOOP
    EXECUTE format('REVOKE ALL ON %s FROM %s', it.name, it.grantee);
  END LOOP;
  FOREACH belonging IN ARRAY belongings LOOP EXECUTE belonging; END LOOP;
END $$;

-- Step 4: -- reads orders, and lets others read and write them.
DO $$
DECLARE
  it record;
BEGIN
  FOR it IN SELECT conrelid::regclass AS name, conname FROM pg_constraint
    WHERE contype = 'f' AND confrelid = 'pets'::regclass AND conparentid = 0 AND NOT convalidated
  LOOP
    EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', it.name, it.conname);
  END LOOP;
END $$;

-- Step 5: what the planner knows.
ANALYZE pets;
