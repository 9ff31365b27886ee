-- Creates the role of the service in a database before the first migration. Run it with psql as the role that will own the
-- tables and migrate; the role of the service reads and writes rows, and can neither alter nor drop. All changes are made,
-- or none.
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
-- For all schemas and tables that the current role will create.
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO petstore_app;
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO petstore_app;
COMMIT;
