/** Accounts with a label of their own; one for each of many thousands would burden whoever stores the metric. */
const MOST = 1_000;
const OTHERS = 'other';

/** Counts by operation and account, for the first accounts; later ones are counted together. */
export class AccountCounts {
  private readonly counts = new Map<string, Map<string, number>>();

  add(operation: string, account: string): void {
    let counts = this.counts.get(operation);
    if (!counts) this.counts.set(operation, (counts = new Map()));
    const name = counts.has(account) || counts.size < MOST ? account : OTHERS;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  /** The counts so far, with their labels. */
  figures(): { labels: Record<string, string>; value: number }[] {
    return [...this.counts].flatMap(([operation, counts]) =>
      [...counts].map(([account, value]) => ({ labels: { operation, account }, value })),
    );
  }
}
