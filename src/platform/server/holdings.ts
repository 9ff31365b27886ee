/**
 * What clients hold of something that is scarce, such as connections. Beyond the bound, whoever holds most loses what it
 * has held longest: one client can take nothing from the others, and what takes longest is least likely to end well.
 */
export class Holdings<Thing> {
  private readonly byHolder = new Map<string, Set<Thing>>();
  private count = 0;

  /** @param takeAway is called with a thing that its holder has lost */
  constructor(
    private readonly bound: number,
    private readonly takeAway: (thing: Thing) => void,
  ) {}

  add(holder: string, thing: Thing): void {
    const held = this.byHolder.get(holder);
    if (held) held.add(thing);
    else this.byHolder.set(holder, new Set([thing]));
    if (++this.count > this.bound) this.giveUp();
  }

  /** The holder has given it back, or has lost it before. */
  delete(holder: string, thing: Thing): void {
    const held = this.byHolder.get(holder);
    if (!held?.delete(thing)) return;
    this.count--;
    if (held.size === 0) this.byHolder.delete(holder);
  }

  /** Takes what has been held longest from whoever holds most, if anybody holds anything. */
  giveUp(): void {
    if (this.count === 0) return;
    const [holder, held] = [...this.byHolder].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    const [oldest] = held;
    this.delete(holder, oldest!);
    this.takeAway(oldest!);
  }
}
