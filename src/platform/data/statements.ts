import { hash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { type EntityManager, QueryFailedError, QueryRunnerAlreadyReleasedError } from 'typeorm';
import { Connections, type Statement } from '../database/index.js';
import type { Shape } from './shape.js';

/**
 * The prepared statements of one table, each written once: building the text on every call, as TypeORM does, costs this
 * process CPU time, and a text without a name costs PostgreSQL the parsing.
 */
export class Statements {
  readonly connections: Connections;
  private readonly all = new Map<string, Statement>();

  constructor(private readonly shape: Shape) {
    this.connections = Connections.of(shape.entity.dataSource);
  }

  /** The statement under a name that tells it from the table's others, written on first use. */
  once(name: string, write: () => string): Statement {
    let statement = this.all.get(name);
    if (!statement) {
      const text = write();
      // PostgreSQL cuts names after 63 bytes. Behind a pooler, two processes can share a session: what has the same name
      // must be the same statement.
      const own = `${this.shape.entity.tableName.slice(0, 15)}_${hash('sha256', text, 'base64url').slice(0, 16)}`;
      this.all.set(name, (statement = { name: own, text }));
    }
    return statement;
  }

  /**
   * Runs a statement: in the transaction of a manager if it has one, else on any connection of TypeORM's pool.
   * @throws QueryFailedError, as TypeORM does
   */
  async run({ queryRunner }: EntityManager, statement: Statement, values: unknown[]): Promise<unknown[][]> {
    if (!queryRunner) return this.runOn(this.connections.primary, statement, values);
    if (queryRunner.isReleased) throw new QueryRunnerAlreadyReleasedError();
    return this.runOn((await queryRunner.connect()) as PoolClient, statement, values);
  }

  /** Runs the statement of a list, outside of transactions, wherever lists are read from. @throws QueryFailedError */
  runList(statement: Statement, values: unknown[]): Promise<unknown[][]> {
    return this.connections.readList((connection) => this.runOn(connection, statement, values));
  }

  private runOn(connection: Pool | PoolClient, statement: Statement, values: unknown[]) {
    return this.connections.run(connection, statement, values).catch((error: Error) => {
      throw new QueryFailedError(statement.text, values, error);
    });
  }
}
