-- Makes pets, partitioned by partition-pets.sql, one table again, while the service runs: as the owner of the tables, past a
-- pooler, with psql --file=deploy/postgres/unpartition-pets.sql. It copies the rows into pets_whole, so there must be room
-- for them twice. The script stops at the first error, such as a lock that it does not get within two seconds, or a disk
-- that is full: pets is then as it was, with every animal. Run it again: it goes on from there. Or give it up, which loses
-- nothing: DROP FUNCTION copy_pet() CASCADE; DROP TABLE pets_whole;
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET lock_timeout = '2s';
-- New tables go where pets is.
SELECT set_config('search_path', relnamespace::regnamespace::text, false) FROM pg_class WHERE oid = 'pets'::regclass \gset

-- Step 1: what is written from now on is written to the copy as well.
DO $$
DECLARE
  it record;
  hindrances text;
BEGIN
  IF NOT (SELECT relkind = 'p' FROM pg_class WHERE oid = 'pets'::regclass) THEN
    RAISE NOTICE 'pets is one table already.';
    RETURN;
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
  IF to_regclass('pets_parts') IS NOT NULL THEN
    RAISE EXCEPTION 'There is another table pets_parts.'
      USING HINT = 'Nothing has been changed. Rename it, and run the script.';
  END IF;
  -- From an earlier run, and kept up to date since.
  IF to_regclass('pets_whole') IS NOT NULL THEN RETURN; END IF;

  -- Whoever runs the script, the new table is the owner's.
  PERFORM set_config('role', pg_get_userbyid(relowner), true) FROM pg_class WHERE oid = 'pets'::regclass;
  PERFORM set_config('default_tablespace', coalesce(min(spcname), ''), true)
    FROM pg_class JOIN pg_tablespace ON pg_tablespace.oid = reltablespace
    WHERE pg_class.oid IN (SELECT relid FROM pg_partition_tree('pets'));
  LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE;
  CREATE TABLE pets_whole (LIKE pets INCLUDING ALL);
  FOR it IN SELECT conname, pg_get_constraintdef(oid) AS is FROM pg_constraint
    WHERE contype = 'f' AND conrelid = 'pets'::regclass
  LOOP
    EXECUTE format('ALTER TABLE pets_whole ADD CONSTRAINT %I %s', it.conname, it.is);
  END LOOP;
  FOR it IN SELECT DISTINCT unnest(reloptions) AS option FROM pg_class
    WHERE oid IN (SELECT relid FROM pg_partition_tree('pets'))
  LOOP
    EXECUTE format('ALTER TABLE pets_whole SET (%s)', it.option);
  END LOOP;
  -- Whose snapshot is older than a row of the copy would not delete that one: writing it first fails instead.
  EXECUTE (SELECT format($create$
    CREATE FUNCTION copy_pet() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $copy$
    DECLARE
      pet record;
    BEGIN
      IF TG_OP = 'DELETE' THEN pet := OLD; ELSE pet := NEW; END IF;
      INSERT INTO pets_whole (%s) OVERRIDING SYSTEM VALUE VALUES (%s) ON CONFLICT (id) DO UPDATE SET %s;
      IF TG_OP = 'DELETE' THEN DELETE FROM pets_whole WHERE id = pet.id; END IF;
      RETURN NULL;
    END $copy$ $create$,
    string_agg(quote_ident(attname), ', '), string_agg(format('pet.%I', attname), ', '),
    string_agg(format('%I = excluded.%1$I', attname), ', ') FILTER (WHERE attidentity = ''))
    FROM pg_attribute WHERE attrelid = 'pets'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '');
  CREATE TRIGGER copy_pet AFTER INSERT OR UPDATE OR DELETE ON pets FOR EACH ROW EXECUTE FUNCTION copy_pet();
  ALTER TABLE pets ENABLE ALWAYS TRIGGER copy_pet;
END $$;

-- Step 2: copies what was there before, some thousand rows at a time; whoever changes one of them waits that long.
DO $$
DECLARE
  all_columns text;
  done bigint := -9223372036854775808;
BEGIN
  IF NOT (SELECT relkind = 'p' FROM pg_class WHERE oid = 'pets'::regclass) THEN RETURN; END IF;
  SELECT string_agg(quote_ident(attname), ', ') INTO all_columns FROM pg_attribute
    WHERE attrelid = 'pets'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
  WHILE done IS NOT NULL LOOP
    EXECUTE format('
      WITH batch AS MATERIALIZED (SELECT * FROM pets WHERE id > $1 ORDER BY id LIMIT 5000 FOR SHARE), copied AS (
        INSERT INTO pets_whole (%s) OVERRIDING SYSTEM VALUE SELECT %1$s FROM batch ON CONFLICT (id) DO NOTHING)
      SELECT max(id) FROM batch', all_columns) INTO done USING done;
    COMMIT;
  END LOOP;
END $$;

-- Step 3: what the planner knows of the copy.
DO $$
BEGIN
  IF (SELECT relkind = 'p' FROM pg_class WHERE oid = 'pets'::regclass) THEN ANALYZE pets_whole; END IF;
END $$;

-- Step 4: compares both, while they are written, and then lets the copy take the place of the table, all of it or nothing.
-- For that nothing is read, built or deleted, and nobody waits for the disk: what is written after it and acknowledged is
-- only there together with it.
DO $$
DECLARE
  different bigint;
  belongings text[];
  belonging text;
  it record;
BEGIN
  IF NOT (SELECT relkind = 'p' FROM pg_class WHERE oid = 'pets'::regclass) THEN RETURN; END IF;
  -- From the comparison on, nobody else changes what the tables are.
  LOCK TABLE pets, pets_whole IN SHARE UPDATE EXCLUSIVE MODE;
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'pets'::regclass AND tgname = 'copy_pet' AND tgenabled = 'A') THEN
    RAISE EXCEPTION 'pets_whole is not kept up to date.'
      USING HINT = 'Give it up, as the head of the script says, and begin anew.';
  END IF;
  SELECT count(*) INTO different FROM pets AS here FULL JOIN pets_whole AS there ON here.id = there.id
    WHERE here::text IS DISTINCT FROM there::text;
  IF different > 0 THEN
    RAISE EXCEPTION '% rows of pets_whole are not as in pets, which stays.', different
      USING HINT = 'Does another program write to pets_whole? Give it up, as the head of the script says, and begin anew.';
  END IF;

  PERFORM set_config('synchronous_commit', 'off', true);
  -- In the order in which an order takes them.
  LOCK TABLE pets IN ACCESS EXCLUSIVE MODE;
  FOR it IN SELECT conrelid::regclass AS name, conname FROM pg_constraint
    WHERE contype = 'f' AND confrelid = 'pets'::regclass AND conparentid = 0 ORDER BY 1
  LOOP
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', it.name);
  END LOOP;
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

  DROP TRIGGER copy_pet ON pets;
  DROP FUNCTION copy_pet();
  PERFORM setval('pets_whole_id_seq', last_value, is_called) FROM pets_id_seq;
  FOR it IN SELECT conrelid::regclass AS name, conname FROM pg_constraint
    WHERE contype = 'f' AND confrelid = 'pets'::regclass AND conparentid = 0
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', it.name, it.conname);
  END LOOP;
  ALTER TABLE pets RENAME TO pets_parts;
  ALTER SEQUENCE pets_id_seq RENAME TO pets_parts_id_seq;
  ALTER TABLE pets_whole RENAME TO pets;
  ALTER SEQUENCE pets_whole_id_seq RENAME TO pets_id_seq;
  -- The indexes get the names of those that they are like.
  FOR it IN
    WITH indexes AS (
      SELECT indrelid::regclass AS of, indexrelid::regclass AS index, relname AS name, kind,
          row_number() OVER (PARTITION BY indrelid, kind ORDER BY indexrelid) AS nth
        FROM pg_index JOIN pg_class ON oid = indexrelid,
          concat(indisunique, regexp_replace(pg_get_indexdef(indexrelid), '^.*? USING', '')) AS kind
        WHERE indrelid IN ('pets_parts'::regclass, 'pets'::regclass))
    SELECT old.index AS old, old.name, new.index AS new FROM indexes old JOIN indexes new USING (kind, nth)
      WHERE old.of = 'pets_parts'::regclass AND new.of = 'pets'::regclass
  LOOP
    EXECUTE format('ALTER INDEX %s RENAME TO %I', it.old, regexp_replace(it.name, '^(pets_)?', 'pets_parts_'));
    EXECUTE format('ALTER INDEX %s RENAME TO %I', it.new, it.name);
  END LOOP;
  -- In place of what ALTER DEFAULT PRIVILEGES has granted.
  FOR it IN SELECT oid::regclass AS name, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS grantee
    FROM pg_class, aclexplode(relacl) WHERE oid IN ('pets'::regclass, 'pets_id_seq'::regclass)
  LOOP
    EXECUTE format('REVOKE ALL ON %s FROM %s', it.name, it.grantee);
  END LOOP;
  FOREACH belonging IN ARRAY belongings LOOP EXECUTE belonging; END LOOP;
  COMMENT ON TABLE pets_parts IS 'replaced by unpartition-pets.sql';
END $$;

-- Step 5: nobody uses the partitions any more.
DO $$
BEGIN
  IF obj_description(to_regclass('pets_parts'), 'pg_class') = 'replaced by unpartition-pets.sql' THEN
    DROP TABLE pets_parts;
  END IF;
END $$;

-- Step 6: -- reads orders, and lets others read and write them.
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
