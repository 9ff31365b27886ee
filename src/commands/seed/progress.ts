import { clearLine, cursorTo } from 'node:readline';

const WIDTH = 30;

/** Shows the progress of long work on standard error: a bar on a terminal, otherwise a line for every tenth. */
export class Progress {
  private tenths = 0;

  constructor(private readonly total: number) {}

  show(done: number): void {
    const share = done / this.total;
    const percent = `${Math.floor(share * 100)} %`;
    if (process.stderr.isTTY) this.draw(`${'█'.repeat(share * WIDTH).padEnd(WIDTH, '░')} ${percent}`);
    else if (Math.floor(share * 10) > this.tenths) {
      this.tenths = Math.floor(share * 10);
      process.stderr.write(`${percent}\n`);
    }
  }

  /** Restores the terminal. */
  end(): void {
    if (process.stderr.isTTY) this.draw('');
  }

  private draw(line: string): void {
    clearLine(process.stderr, 0);
    cursorTo(process.stderr, 0);
    process.stderr.write(line);
  }
}
