import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Largest id that the service assigns: 2^53 - 1, the largest exact integer of JavaScript clients. */
const ID = 'bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991)';

const CATEGORIES = [
  'Cats',
  'Dogs',
  'Birds',
  'Fish',
  'Rabbits',
  'Hamsters',
  'Guinea pigs',
  'Mice',
  'Turtles',
  'Lizards',
];

export class InitialSchema1795219200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createAccounts(runner);
    await createCatalogue(runner);
    await createOrders(runner);
    await createMessages(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE messages, orders, pets, categories, api_keys, accounts');
  }
}

async function createAccounts(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE accounts (
      id ${ID} CONSTRAINT accounts_pkey PRIMARY KEY,
      email text NOT NULL,
      password_hash text NOT NULL,
      created_at timestamptz(3) NOT NULL DEFAULT now()
    )`);
  await runner.query('CREATE UNIQUE INDEX accounts_email_key ON accounts (lower(email))');
  await runner.query(`
    CREATE TABLE api_keys (
      id ${ID} CONSTRAINT api_keys_pkey PRIMARY KEY,
      account_id bigint NOT NULL CONSTRAINT api_keys_account_id_fkey REFERENCES accounts,
      name text NOT NULL CONSTRAINT api_keys_name_check CHECK (char_length(name) BETWEEN 1 AND 255),
      hash bytea NOT NULL CONSTRAINT api_keys_hash_key UNIQUE
        CONSTRAINT api_keys_hash_check CHECK (octet_length(hash) = 32),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      expires_at timestamptz(3)
    )`);
  await runner.query('CREATE INDEX api_keys_account_id_id_idx ON api_keys (account_id, id)');
}

async function createCatalogue(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE categories (
      id ${ID} CONSTRAINT categories_pkey PRIMARY KEY,
      name text NOT NULL CONSTRAINT categories_name_key UNIQUE
        CONSTRAINT categories_name_check CHECK (char_length(name) BETWEEN 1 AND 255)
    )`);
  await runner.query('INSERT INTO categories (name) SELECT * FROM unnest($1::text[])', [CATEGORIES]);
  await runner.query(`
    CREATE TABLE pets (
      id ${ID} CONSTRAINT pets_pkey PRIMARY KEY,
      name text NOT NULL CONSTRAINT pets_name_check CHECK (char_length(name) BETWEEN 1 AND 255),
      category_id bigint NOT NULL CONSTRAINT pets_category_id_fkey REFERENCES categories,
      status text CONSTRAINT pets_status_check CHECK (status IN ('available', 'pending', 'sold'))
    )`);
  await runner.query('CREATE INDEX pets_status_id_idx ON pets (status, id)');
  await runner.query('CREATE INDEX pets_category_id_idx ON pets (category_id)');
}

async function createOrders(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE orders (
      id ${ID} CONSTRAINT orders_pkey PRIMARY KEY,
      account_id bigint NOT NULL CONSTRAINT orders_account_id_fkey REFERENCES accounts,
      pet_id bigint NOT NULL CONSTRAINT orders_pet_id_fkey REFERENCES pets,
      status text NOT NULL
        CONSTRAINT orders_status_check CHECK (status IN ('placed', 'approved', 'delivered', 'cancelled')),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      updated_at timestamptz(3) NOT NULL DEFAULT now()
    )`);
  await runner.query('CREATE INDEX orders_account_id_id_idx ON orders (account_id, id)');
  await runner.query('CREATE INDEX orders_account_id_status_id_idx ON orders (account_id, status, id)');
  await runner.query('CREATE INDEX orders_pet_id_idx ON orders (pet_id)');
  await runner.query(`
    CREATE UNIQUE INDEX orders_open_pet_id_key ON orders (pet_id) WHERE status IN ('placed', 'approved')`);
}

async function createMessages(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE messages (
      id uuid CONSTRAINT messages_pkey PRIMARY KEY,
      account_id bigint NOT NULL CONSTRAINT messages_account_id_fkey REFERENCES accounts,
      message text NOT NULL CONSTRAINT messages_message_check CHECK (char_length(message) BETWEEN 1 AND 65536),
      status text NOT NULL CONSTRAINT messages_status_check CHECK (status IN ('queued', 'delivered', 'failed')),
      created_at timestamptz(3) NOT NULL DEFAULT now()
    )`);
  await runner.query('CREATE INDEX messages_account_id_idx ON messages (account_id)');
}
