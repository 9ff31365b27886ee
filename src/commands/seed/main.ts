import { InvalidArgumentError, Option } from 'commander';
import { commandLine, runCommand } from '../command.js';
import { addPets } from './add-pets.js';
import { Progress } from './progress.js';
import { STATUS_MIXES, type StatusMixName } from './status-mixes.js';

/** More than a table on one server is meant to hold. */
const MOST = 1_000_000_000;

await commandLine(
  'seed',
  'Adds many animals to the database of the configuration, to test the service at full size.',
)
  .requiredOption('--pets <count>', 'how many animals to add', petCount)
  .addOption(
    new Option('--mix <name>', 'how many have each status')
      .choices(Object.keys(STATUS_MIXES))
      .default('shop'),
  )
  .allowExcessArguments(false)
  .action(seed)
  .parseAsync();

function seed({ pets, mix }: { pets: number; mix: StatusMixName }): Promise<void> {
  return runCommand(async ({ config }) => {
    const progress = new Progress(pets);
    const begun = performance.now();
    const onProgress = (added: number) => progress.show(added);
    try {
      await addPets(config, { count: pets, mix: STATUS_MIXES[mix], onProgress });
    } finally {
      progress.end();
    }
    const seconds = (performance.now() - begun) / 1_000;
    const [count, rate] = [pets, pets / seconds].map((number) => Math.round(number).toLocaleString('en'));
    console.log(`Added ${count} animals in ${seconds.toFixed(1)} s: ${rate} a second.`);
  });
}

function petCount(text: string): number {
  const count = /^[1-9]\d*$/.test(text) ? Number(text) : NaN;
  if (!(count <= MOST)) throw new InvalidArgumentError(`Must be an integer from 1 to ${MOST}.`);
  return count;
}
