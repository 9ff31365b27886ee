import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type FeatureOptions } from './description.ts';
import { filesFrom } from './example.ts';
import { Inventory, PACKAGE, read } from './inventory.ts';
import { piecesOf } from './pieces.ts';
import { refuse } from './program.ts';
import { type Names, namesOf } from './words.ts';

/** The example feature, and the options that would generate it. */
const EXAMPLE = join(PACKAGE, 'examples/appointments');
export const EXAMPLE_OPTIONS: FeatureOptions = {
  ...{ many: 'appointments', owned: true, crud: true },
  fields:
    'petId:ref(pets),startsAt:time,minutes:integer(5,240),note?:text(1000),status:enum(booked,kept,cancelled)',
};
const LIST = 'src/features.ts';

/** The files of a feature by path, and the list of features with its module. @throws Refusal that names the problem */
export function featureFiles(folder: string, options: FeatureOptions): Map<string, string> {
  const inventory = new Inventory(folder);
  const names = namesOf(options.many, options.singular);
  for (const path of [`src/${names.files}`, `test/${names.files}.test.ts`])
    if (existsSync(join(folder, path))) refuse(`"${names.files}" cannot be added: ${path} already exists.`);
  inventory.requireUnused(names);
  const feature = describe(names, options, inventory);
  const example = describe(namesOf(EXAMPLE_OPTIONS.many), EXAMPLE_OPTIONS, inventory);
  const time = timeOfMigration(folder);
  const files = filesFrom(EXAMPLE, piecesOf(example), piecesOf(feature), feature, time);
  return files.set(LIST, withModule(read(join(folder, LIST)), names));
}

/** The current time, or later: after the existing migrations. */
function timeOfMigration(folder: string): string {
  const paths = readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' });
  const times = paths.flatMap((path) => /migrations[\\/](\d{13})-[^\\/]+\.ts$/.exec(path)?.[1] ?? []);
  return String(Math.max(Date.now(), ...times.map((time) => Number(time) + 1)));
}

function withModule(text: string, { Names, files }: Names): string {
  const [head, end] = [text.search(/^\n/m), text.search(/^\]\)?;$/m)];
  if (head < 0 || end < 0) refuse(`${LIST} has no list of features that ends with a line "]);" or "];".`);
  const line = `import { ${Names}Module } from './${files}/${files}.module.js';\n`;
  return `${text.slice(0, head)}${line}${text.slice(head, end)}  ${Names}Module,\n${text.slice(end)}`;
}

/** Writes files, formatted if prettier is installed; a dry run only prints their names. */
export async function write(folder: string, files: Map<string, string>, dryRun = false): Promise<void> {
  // A new repository has no prettier yet, and formats itself once it has.
  const prettier = await import('prettier').catch(() => undefined);
  const options = await prettier?.resolveConfig(join(folder, 'package.json'));
  for (const [path, text] of files) {
    const filepath = join(folder, path);
    const isKnown = (await prettier?.getFileInfo(filepath))?.inferredParser;
    const formatted = isKnown ? await prettier!.format(text, { ...options, filepath }) : text;
    console.log(existsSync(filepath) ? 'update' : 'create', path);
    if (dryRun) continue;
    mkdirSync(dirname(filepath), { recursive: true });
    writeFileSync(filepath, formatted);
  }
}
