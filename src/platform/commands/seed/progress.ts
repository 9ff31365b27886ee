import { clearLine, cursorTo } from 'node:readline';

const WIDTH = 30;

/** Shows the progress of long work on standard error: a bar on a terminal, otherwise a line for every tenth. */
export class Progress {
  private tenths = 0;

  constructor(
    private readonly total: number,
    private readonly stream = process.stderr,
  ) {}

  show(done: number): void {
    const share = done / this.total;
    const percent = `${Math.floor(share * 100)} %`;
    if (this.stream.isTTY) this.draw(`${'█'.repeat(share * WIDTH).padEnd(WIDTH, '░')} ${percent}`);
    else if (Math.floor(share * 10) > this.tenths) {
      this.tenths = Math.floor(share * 10);
      this.stream.write(`${percent}\n`);
    }
  }

  /** Restores the terminal. */
  end(): void {
    if (this.stream.isTTY) this.draw('');
  }

  private draw(line: string): void {
    clearLine(this.stream, 0);
    cursorTo(this.stream, 0);
    this.stream.write(line);
  }
}
