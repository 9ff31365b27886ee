import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SchematicsException } from '@angular-devkit/schematics';
import { NodeWorkflow } from '@angular-devkit/schematics/tools/index.js';

// `npm run new:feature vets`: runs the schematic in the folder of the project. Ends with 2 where it was called wrongly.
const USAGE =
  'Usage: npm run new:feature <plural> [-- [--owned] [--singular <word>]], such as: npm run new:feature vets';

const workflow = new NodeWorkflow(process.cwd(), { schemaValidation: true });
workflow.reporter.subscribe((event) => {
  if (event.kind === 'create' || event.kind === 'update') console.log(event.kind, event.path.slice(1));
});
try {
  const collection = fileURLToPath(new URL('collection.json', import.meta.url));
  await workflow.execute({ collection, schematic: 'feature', options: readArguments() }).toPromise();
  console.log('Next: change it to what you need, then npm run openapi && npm run format && npm test');
} catch (error) {
  if (!(error instanceof SchematicsException)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

function readArguments(): { name: string; singular?: string; owned?: boolean } {
  try {
    const { values, positionals } = parseArgs({
      options: { singular: { type: 'string' }, owned: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [name, ...more] = positionals;
    if (name !== undefined && more.length === 0) return { name, ...values };
  } catch {
    // Unknown options are answered like a name too many.
  }
  throw new SchematicsException(USAGE);
}
