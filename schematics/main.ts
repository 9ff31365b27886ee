import { featureFiles, write } from './feature.ts';
import { main, readArguments } from './program.ts';

// `npm run new:feature vets` in the folder of a service.
const USAGE =
  'Usage: npm run new:feature <plural> [-- [--owned] [--crud] [--fields <fields>] [--singular <word>] [--dry-run]], such as: ' +
  "npm run new:feature visits -- --owned --fields 'petId:ref(pets),date:date,price:money,note?:text(1000)'";

await main(async () => {
  const { name: many, values } = readArguments(USAGE, {
    singular: { type: 'string' },
    fields: { type: 'string' },
    owned: { type: 'boolean' },
    crud: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
  });
  const { 'dry-run': isDryRun, ...options } = values;
  await write('.', featureFiles('.', { many, ...options }), isDryRun);
  console.log(
    isDryRun
      ? 'Nothing was written: this was a dry run.'
      : 'Next: change it to what you need, then npm run openapi && npm run format && npm test',
  );
});
