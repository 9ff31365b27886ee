/** Accounts that are told apart; a metric with a label for each of many thousand would burden whoever stores it. */
const MOST = 1_000;
const OTHERS = 'other';

/** Counts by operation and account, of the first accounts that come; the others count together. */
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
