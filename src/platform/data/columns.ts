import { PrimaryGeneratedColumn } from 'typeorm';

/** The id of a table, assigned by PostgreSQL: an int64, held as a decimal string, so that no digit is lost. */
export function IdColumn(constraint: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    primaryKeyConstraintName: constraint,
    generatedIdentity: 'ALWAYS',
  });
}
