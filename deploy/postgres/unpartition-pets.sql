-- Makes pets, partitioned by partition-pets.sql, one table again, while the service runs: as the owner of the tables, past a
-- pooler, with psql --file=deploy/postgres/unpartition-pets.sql. It copies the rows, so there must be room for them twice.
-- A step that does not get its locks within two seconds ends, and the script can go on from there.

-- Step 1: what is written from now on is written to the copy as well.
DO $$
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  CREATE TABLE pets_whole (LIKE pets INCLUDING CONSTRAINTS INCLUDING IDENTITY);
  ALTER TABLE pets_whole ADD CONSTRAINT pets_whole_pkey PRIMARY KEY (id);
  CREATE INDEX pets_whole_status_id_idx ON pets_whole (status, id);
  CREATE INDEX pets_whole_category_id_id_idx ON pets_whole (category_id, id);
  CREATE INDEX pets_whole_status_category_id_id_idx ON pets_whole (status, category_id, id);
  ALTER TABLE pets_whole
    ADD CONSTRAINT pets_category_id_fkey FOREIGN KEY (category_id) REFERENCES categories (id);
  CREATE FUNCTION copy_pet() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $copy$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        DELETE FROM pets_whole WHERE id = OLD.id;
      ELSE
        INSERT INTO pets_whole OVERRIDING SYSTEM VALUE VALUES (NEW.*) ON CONFLICT (id)
          DO UPDATE SET (name, category_id, status) = (excluded.name, excluded.category_id, excluded.status);
      END IF;
      RETURN NULL;
    END $copy$;
  CREATE TRIGGER copy_pet AFTER INSERT OR UPDATE OR DELETE ON pets FOR EACH ROW EXECUTE FUNCTION copy_pet();
END $$;

-- Step 2: copies what was there before, some thousand rows at a time; whoever changes one of them waits that long.
DO $$
DECLARE
  done bigint := 0;
  last bigint := (SELECT coalesce(max(id), 0) FROM pets);
BEGIN
  WHILE done < last LOOP
    INSERT INTO pets_whole OVERRIDING SYSTEM VALUE
      SELECT * FROM pets WHERE id > done AND id <= done + 5000 FOR SHARE
      ON CONFLICT (id) DO NOTHING;
    COMMIT;
    done := done + 5000;
  END LOOP;
END $$;

-- Step 3: what the planner knows of the copy.
ANALYZE pets_whole;

-- Step 4: the copy takes the place of the table. Nothing is read, built or deleted, and nobody waits for the disk: what is
-- written after it and acknowledged is only there together with it.
DO $$
BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('synchronous_commit', 'off', true);
  -- In the order in which an order takes them.
  LOCK TABLE pets IN ACCESS EXCLUSIVE MODE;
  LOCK TABLE orders IN ACCESS EXCLUSIVE MODE;
  DROP TRIGGER copy_pet ON pets;
  DROP FUNCTION copy_pet();
  PERFORM setval('pets_whole_id_seq', last_value, is_called) FROM pets_id_seq;
  ALTER TABLE orders DROP CONSTRAINT orders_pet_id_fkey;
  ALTER TABLE pets DROP CONSTRAINT pets_category_id_fkey;
  ALTER TABLE pets RENAME TO pets_parts;
  ALTER SEQUENCE pets_id_seq RENAME TO pets_parts_id_seq;
  ALTER INDEX pets_pkey RENAME TO pets_parts_pkey;
  ALTER INDEX pets_status_id_idx RENAME TO pets_parts_status_id_idx;
  ALTER INDEX pets_category_id_id_idx RENAME TO pets_parts_category_id_id_idx;
  ALTER INDEX pets_status_category_id_id_idx RENAME TO pets_parts_status_category_id_id_idx;
  ALTER TABLE pets_whole RENAME TO pets;
  ALTER SEQUENCE pets_whole_id_seq RENAME TO pets_id_seq;
  ALTER INDEX pets_whole_pkey RENAME TO pets_pkey;
  ALTER INDEX pets_whole_status_id_idx RENAME TO pets_status_id_idx;
  ALTER INDEX pets_whole_category_id_id_idx RENAME TO pets_category_id_id_idx;
  ALTER INDEX pets_whole_status_category_id_id_idx RENAME TO pets_status_category_id_id_idx;
  ALTER TABLE orders ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES pets (id) NOT VALID;
END $$;

-- Step 5: nobody uses the partitions any more.
DROP TABLE pets_parts;

-- Step 6: reads orders, and lets others read and write them.
ALTER TABLE orders VALIDATE CONSTRAINT orders_pet_id_fkey;
