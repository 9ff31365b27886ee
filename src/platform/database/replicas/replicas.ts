import type { Pool, PoolClient, PoolConfig } from 'pg';
import { Batcher, made } from '../batcher.js';
import { currentPosition, systemOf, type WalPosition } from './position.js';
import { type Primary, Replica } from './replica.js';

/**
 * Reads from replicas what the primary would answer. Every read first asks the primary how far its log has come, by one
 * statement for all that ask at that moment, and uses no replica that has not replayed it that far. So no read is ever
 * stale, whichever instance a write went through. It costs a round trip, and the primary a statement that touches no
 * table.
 */
export class Replicas {
  private readonly replicas: Replica[];
  private readonly positions: Batcher<undefined, WalPosition>;
  private turn = 0;

  /**
   * @param pools the pool of each replica
   * @param prepares whether connections keep the statements that they have parsed
   */
  constructor(
    private readonly primary: Pool,
    pools: readonly PoolConfig[],
    prepares: boolean,
  ) {
    this.positions = new Batcher({
      make: async (asked) =>
        made(Array<WalPosition>(asked.length).fill(await currentPosition(primary, prepares))),
    });
    const position = () => this.positions.add(undefined);
    const model: Primary = { prepares, position, system: () => systemOf(primary) };
    this.replicas = pools.map((options) => new Replica(options, model));
  }

  /** Reads from a replica; from the primary if none is usable or the replica fails. */
  async read<T>(work: (connection: Pool | PoolClient) => Promise<T>): Promise<T> {
    const replica = this.next();
    if (!replica) return work(this.primary);
    return replica.read(work).catch(() => work(this.primary));
  }

  async close(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.close()));
  }

  /** The usable ones in turn. */
  private next(): Replica | undefined {
    const usable = this.replicas.filter(({ isUsable }) => isUsable);
    return usable[this.turn++ % usable.length];
  }
}
