/** What the terminal shows once the service listens, beside its addresses. */
export class StartBlock {
  /** Names, of at most eleven characters, and what is said of each. */
  readonly notes: [name: string, text: string][] = [];

  /** Adds a line, from the constructor of a provider: what becomes of messages. */
  add(name: string, text: string): void {
    this.notes.push([name, text]);
  }
}
