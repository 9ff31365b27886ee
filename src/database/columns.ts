import { PrimaryGeneratedColumn } from 'typeorm';

/** The id of a table, which PostgreSQL assigns: an int64, inside the service a decimal string, so that no digit is lost. */
export function IdColumn(constraint: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    primaryKeyConstraintName: constraint,
    generatedIdentity: 'ALWAYS',
  });
}
