import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { loadMigrations } from './migrations.js';

/** Milliseconds for which a complete schema is trusted to stay complete. */
const TRUST_MS = 5_000;

/** Whether the database has every migration of this build. More are fine: a newer release has prepared it. */
@Injectable()
export class SchemaCheck {
  private names?: Promise<string[]>;
  private trustedUntil = -Infinity;

  constructor(private readonly database: DataSource) {}

  /**
   * Queries the database on every call; compares the migrations at most every 5 s.
   * @returns the names of the missing migrations
   * @throws what the database throws
   */
  async findMissing(): Promise<string[]> {
    if (performance.now() < this.trustedUntil) {
      await this.database.query('SELECT 1');
      return [];
    }
    this.names ??= loadMigrations().then((migrations) => migrations.map(({ name }) => name));
    const rows = await this.database.query<{ name: string }[]>('SELECT name FROM migrations');
    const applied = new Set(rows.map(({ name }) => name));
    const missing = (await this.names).filter((name) => !applied.has(name));
    if (missing.length === 0) this.trustedUntil = performance.now() + TRUST_MS;
    return missing;
  }
}
