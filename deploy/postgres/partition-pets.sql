-- Makes pets a table with a partition for each 50,000,000 ids, while the service runs; PostgreSQL 17 or newer. As the owner
-- of the tables, past a pooler: psql --file=deploy/postgres/partition-pets.sql. No step holds a lock for long: one that does
-- not get its locks within two seconds ends, and the script can go on from there. Ids of a million a second would take
-- 50 seconds to leave a partition: two more stand ready, and one for whatever comes after them.

-- Step 1: all rows there are, and those of the next 50,000,000 ids at least, belong to the first partition.
DO $$
DECLARE
  size bigint := coalesce(current_setting('petstore.partition_size', true), '50000000')::bigint;
  bound bigint := ((SELECT coalesce(max(id), 0) FROM pets) / size + 2) * size;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  EXECUTE format('ALTER TABLE pets ADD CONSTRAINT pets_first_ids CHECK (id < %s) NOT VALID', bound);
END $$;

-- Step 2: reads the table, and lets others read and write it.
ALTER TABLE pets VALIDATE CONSTRAINT pets_first_ids;

-- Step 3: the table becomes the first partition of a new one. Nothing is read or built.
DO $$
DECLARE
  size bigint := coalesce(current_setting('petstore.partition_size', true), '50000000')::bigint;
  bound bigint;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  -- In the order in which an order takes them.
  LOCK TABLE pets IN ACCESS EXCLUSIVE MODE;
  LOCK TABLE orders IN ACCESS EXCLUSIVE MODE;
  SELECT substring(pg_get_constraintdef(oid) FROM '\d+')::bigint INTO STRICT bound
    FROM pg_constraint WHERE conrelid = 'pets'::regclass AND conname = 'pets_first_ids';

  ALTER TABLE orders DROP CONSTRAINT orders_pet_id_fkey;
  ALTER TABLE pets RENAME TO pets_first;
  ALTER SEQUENCE pets_id_seq RENAME TO pets_first_id_seq;
  ALTER INDEX pets_pkey RENAME TO pets_first_pkey;
  ALTER INDEX pets_status_id_idx RENAME TO pets_first_status_id_idx;
  ALTER INDEX pets_category_id_id_idx RENAME TO pets_first_category_id_id_idx;
  ALTER INDEX pets_status_category_id_id_idx RENAME TO pets_first_status_category_id_id_idx;

  CREATE TABLE pets (LIKE pets_first INCLUDING CONSTRAINTS INCLUDING IDENTITY) PARTITION BY RANGE (id);
  ALTER TABLE pets DROP CONSTRAINT pets_first_ids;
  PERFORM setval('pets_id_seq', last_value, is_called) FROM pets_first_id_seq;
  ALTER TABLE pets_first ALTER id DROP IDENTITY;
  EXECUTE format('ALTER TABLE pets ATTACH PARTITION pets_first FOR VALUES FROM (MINVALUE) TO (%s)', bound);
  ALTER TABLE pets_first DROP CONSTRAINT pets_first_ids;

  -- Those of the first partition are taken over.
  ALTER TABLE pets ADD CONSTRAINT pets_pkey PRIMARY KEY (id);
  CREATE INDEX pets_status_id_idx ON pets (status, id);
  CREATE INDEX pets_category_id_id_idx ON pets (category_id, id);
  CREATE INDEX pets_status_category_id_id_idx ON pets (status, category_id, id);
  ALTER TABLE pets ADD CONSTRAINT pets_category_id_fkey FOREIGN KEY (category_id) REFERENCES categories (id);

  FOR i IN 0..1 LOOP
    EXECUTE format('CREATE TABLE pets_from_%s PARTITION OF pets FOR VALUES FROM (%1$s) TO (%2$s)',
      bound + i * size, bound + (i + 1) * size);
  END LOOP;
  -- Not a default one: with that PostgreSQL would read the first rows of every partition for a page, not those of the first.
  EXECUTE format('CREATE TABLE pets_beyond PARTITION OF pets FOR VALUES FROM (%s) TO (MAXVALUE)', bound + 2 * size);
  ALTER TABLE orders ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES pets (id) NOT VALID;
END $$;

-- Step 4: reads orders, and lets others read and write them.
ALTER TABLE orders VALIDATE CONSTRAINT orders_pet_id_fkey;

-- Step 5: what the planner knows.
ANALYZE pets;
