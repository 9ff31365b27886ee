import { Readable, Writable } from 'node:stream';
import { admin as runAdmin } from '../../src/commands/admin/commands.js';
import type { CommandEnvironment } from '../../src/commands/command.js';
import { doctor as runDoctor } from '../../src/commands/doctor.js';
import { jobs as runJobs } from '../../src/commands/jobs.js';
import { migrateCommand } from '../../src/commands/migrate.js';
import { readConfig } from '../../src/config.js';
import { loadParts } from '../../src/load-features.js';
import type { Ended } from './npm.js';

type Environment = Record<string, string>;
type CommandLine = (args: string[], environment: CommandEnvironment) => Promise<number>;

/** Runs a command line to its end in this process: a process of its own would take a second of CPU time. */
const run =
  (commandLine: CommandLine) =>
  async (args: string[], env: Environment, input = ''): Promise<Ended> => {
    const [stdout, stderr] = [new Collector(), new Collector()];
    const code = await commandLine(args, {
      config: async () => readConfig(env),
      parts: loadParts,
      life: { isStopping: false, start: (begin) => begin(new AbortController().signal) },
      streams: { stdin: Readable.from([input]), stdout, stderr },
    });
    return { code, stdout: stdout.text, stderr: stderr.text };
  };

/** `npm run admin -- …` */
export const admin = run(runAdmin);
/** `npm run jobs -- …` */
export const jobs = run(runJobs);

/** `npm run doctor` */
export const doctor = (env: Environment): Promise<Ended> => run(runDoctor)([], env);

/** `npm run migration:run` */
export const migrate = (env: Environment): Promise<Ended> => run(migrateCommand)([], env);

class Collector extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
