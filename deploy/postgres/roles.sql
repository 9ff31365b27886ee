-- The role that the service runs as, in a database that nothing has migrated yet: psql --file=deploy/postgres/roles.sql, as
-- the role that will own the tables. That one migrates; this one reads and writes rows, and can neither alter nor drop. All
-- of it is done, or nothing.
\set ON_ERROR_STOP on
\set app_password ''
\getenv app_password APP_PASSWORD
SELECT :'app_password' = '' AS is_missing \gset
\if :is_missing
  DO $$ BEGIN
    RAISE EXCEPTION 'APP_PASSWORD is not set: it is to be the password of the role petstore_app.'
      USING HINT = 'Nothing has been changed.';
  END $$;
\endif
BEGIN;
CREATE ROLE petstore_app LOGIN PASSWORD :'app_password';
-- Of whatever schemas and tables the role that runs this will create.
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO petstore_app;
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO petstore_app;
COMMIT;
