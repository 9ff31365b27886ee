import { addFeature } from './feature.ts';
import { main, readArguments } from './program.ts';

// `npm run new:feature vets` in the folder of a service.
const USAGE =
  'Usage: npm run new:feature <plural> [-- [--owned] [--singular <word>]], such as: npm run new:feature wolves -- --owned';

await main(async () => {
  const { name, values } = readArguments(USAGE, {
    owned: { type: 'boolean' },
    singular: { type: 'string' },
  });
  const { written, singular } = await addFeature(name, values);
  for (const path of written) console.log('wrote', path);
  console.log(`The singular is "${singular}"; --singular takes another word.`);
  console.log('Next: change it to what you need, then npm run openapi && npm run format && npm test');
});
