import type { MigrationInterface, QueryRunner } from 'typeorm';

const ID = 'id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) CONSTRAINT';

const TABLES = {
  owners: `
    ${ID} owners_pkey PRIMARY KEY,
    first_name text NOT NULL CONSTRAINT owners_first_name_check CHECK (char_length(first_name) BETWEEN 1 AND 30),
    last_name text COLLATE "C" NOT NULL CONSTRAINT owners_last_name_check CHECK (char_length(last_name) BETWEEN 1 AND 30),
    address jsonb NOT NULL,
    telephone text NOT NULL CONSTRAINT owners_telephone_check CHECK (telephone ~ '^[0-9]{1,10}$'),
    email text CONSTRAINT owners_email_check CHECK (char_length(email) <= 254),
    tags text[] NOT NULL CONSTRAINT owners_tags_check CHECK (cardinality(tags) <= 10),
    newsletter boolean NOT NULL`,
  specialties: `
    ${ID} specialties_pkey PRIMARY KEY,
    name text NOT NULL CONSTRAINT specialties_name_key UNIQUE
      CONSTRAINT specialties_name_check CHECK (char_length(name) BETWEEN 1 AND 80)`,
  vets: `
    ${ID} vets_pkey PRIMARY KEY,
    first_name text NOT NULL CONSTRAINT vets_first_name_check CHECK (char_length(first_name) BETWEEN 1 AND 30),
    last_name text NOT NULL CONSTRAINT vets_last_name_check CHECK (char_length(last_name) BETWEEN 1 AND 30)`,
  vet_specialties: `
    vet_id bigint NOT NULL CONSTRAINT vet_specialties_vet_id_fkey REFERENCES vets,
    specialty_id bigint NOT NULL CONSTRAINT vet_specialties_specialty_id_fkey REFERENCES specialties,
    CONSTRAINT vet_specialties_pkey PRIMARY KEY (vet_id, specialty_id)`,
  visits: `
    ${ID} visits_pkey PRIMARY KEY,
    pet_id bigint NOT NULL CONSTRAINT visits_pet_id_fkey REFERENCES pets,
    owner_id bigint NOT NULL CONSTRAINT visits_owner_id_fkey REFERENCES owners,
    date date NOT NULL,
    description text NOT NULL CONSTRAINT visits_description_check CHECK (char_length(description) BETWEEN 1 AND 255),
    price numeric(12,2) NOT NULL CONSTRAINT visits_price_check CHECK (price >= 0),
    items jsonb NOT NULL`,
};

const INDEXES = [
  'owners_last_name_id_idx ON owners (last_name, id)',
  'vet_specialties_specialty_id_idx ON vet_specialties (specialty_id)',
  'visits_pet_id_date_id_idx ON visits (pet_id, date, id)',
  'visits_owner_id_idx ON visits (owner_id)',
];

export class Petclinic1800000000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [table, columns] of Object.entries(TABLES))
      await runner.query(`CREATE TABLE ${table} (${columns})`);
    for (const index of INDEXES) await runner.query(`CREATE INDEX ${index}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of Object.keys(TABLES).toReversed()) await runner.query(`DROP TABLE ${table}`);
  }
}
