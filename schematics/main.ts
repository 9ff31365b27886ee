import { parseArgs } from 'node:util';
import type { NodeWorkflow } from '@angular-devkit/schematics/tools/index.js';
import type { Options } from './feature/index.ts';
import { execute, refuseUsage, report } from './run.ts';

// `npm run new:feature vets`: runs the schematic in the folder of the project. Ends with 2 where it was called wrongly.
const USAGE =
  'Usage: npm run new:feature <plural> [-- [--fields <fields>] [--filter <name>] [--no-overlap <reference:from:until>] [--crud] [--put] [--owned] [--singular <word>] ' +
  "[--dry-run]], such as: npm run new:feature visits -- --fields 'petId:ref(pets) date:date price:money'";

await report(async () => {
  const { dryRun, ...options } = readArguments();
  await execute({ schematic: 'feature', options, dryRun, ask: options.name ? undefined : askFor });
  console.log(
    dryRun
      ? 'Nothing was written: this was a dry run.'
      : 'Next: change it to what you need, then npm run openapi && npm run format && npm test',
  );
});

function readArguments(): Partial<Options> & { dryRun: boolean } {
  try {
    const { values, positionals } = parseArgs({
      options: {
        singular: { type: 'string' },
        fields: { type: 'string' },
        filter: { type: 'string' },
        'no-overlap': { type: 'string' },
        owned: { type: 'boolean' },
        crud: { type: 'boolean' },
        put: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const { 'dry-run': dryRun = false, 'no-overlap': noOverlap, ...others } = values;
    const options = { ...others, ...(noOverlap === undefined ? {} : { noOverlap }) };
    const [name, ...more] = positionals;
    const isAsked = name === undefined && Object.keys(options).length === 0 && process.stdin.isTTY;
    if ((name !== undefined || isAsked) && more.length === 0) return { name, ...options, dryRun };
  } catch {
    // Unknown options are answered like a name too many.
  }
  return refuseUsage(USAGE);
}

/** Lets the schematic ask for what its schema has questions for. */
async function askFor({ registry }: NodeWorkflow): Promise<void> {
  const { confirm, input } = await import('@inquirer/prompts');
  registry.usePromptProvider(async (questions) => {
    const answers: Record<string, string | boolean> = {};
    for (const { id, type, message } of questions) {
      answers[id] =
        type === 'confirmation'
          ? await confirm({ message, default: false })
          : await input({ message, required: id === '/name' });
    }
    return answers;
  });
}
