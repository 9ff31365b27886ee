import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refuse } from './program.ts';
import { type Names, namesOf } from './words.ts';

/** The folder of this package: its sources, or its build. */
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
/** The list of features of the service in the working directory. */
const LIST = 'src/features.ts';

/** The examples that new features are copies of, each with the time of its migration. */
const PLAIN = { name: 'vets', time: '1800000000000' };
const OWNED = { name: 'appointments', time: '1800000000001' };

export interface FeatureOptions {
  /** Copies the example whose rows belong to an account. */
  owned?: boolean;
  /** The name of one row, unless it is the singular derived from the feature's name. */
  singular?: string;
}

/**
 * Adds a feature to the service in the working directory: a copy of an example under another name.
 * @param many the plural in kebab case
 * @throws Refusal that names the problem; then nothing has changed
 */
export async function addFeature(
  many: string,
  { owned, singular }: FeatureOptions,
): Promise<{ written: string[]; singular: string }> {
  const names = namesOf(many, singular);
  if (!existsSync(LIST)) refuse(`There is no ${LIST} here: run this in the folder of a service.`);
  requireUnused(names);
  const files = copyOf(owned ? OWNED : PLAIN, names);
  // Written last, so that the service never lists a feature that does not exist.
  files.set(LIST, await withModule(readFileSync(LIST, 'utf8'), names));
  const formatted = await Promise.all(
    Array.from(files, async ([path, text]) => [path, await format(path, text)] as const),
  );
  write(new Map(formatted));
  return { written: [...files.keys()], singular: names.one.words };
}

/** @throws Refusal if the files, the table, or names for the OpenAPI document exist already */
function requireUnused({ many, one }: Names): void {
  const taken = (what: string) => refuse(`"${many.kebab}" cannot be added: there is already ${what}.`);
  for (const path of [`src/${many.kebab}`, `test/${many.kebab}.test.ts`]) if (existsSync(path)) taken(path);
  for (const source of [join(PACKAGE, 'src'), 'src'])
    for (const path of globSync('**/*.entity.{js,ts}', { cwd: source }))
      if (readFileSync(join(source, path), 'utf8').includes(`Entity('${many.snake}'`))
        taken(`the table ${many.snake}`);
  if (!existsSync('openapi.json')) return;
  const { components, paths, tags } = JSON.parse(readFileSync('openapi.json', 'utf8'));
  const operations = Object.values<object>(paths).flatMap((item) => Object.values(item));
  const used = new Set([
    ...[components.schemas, components.examples, paths].flatMap(Object.keys),
    ...[
      ...tags.map(({ name }: { name: string }) => name),
      ...operations.map(({ operationId }) => operationId),
    ],
  ]);
  const { pascal, snake } = one;
  const wanted = [
    ...[pascal, `New${pascal}`, `${pascal}Change`, `${pascal}Status`, `${snake}_not_found`, `${snake}_final`],
    ...[many.kebab, `/${many.kebab}`, `list${many.pascal}`],
    ...['create', 'get', 'update', 'delete'].map((verb) => verb + pascal),
  ];
  const found = wanted.find((name) => used.has(name));
  if (found) taken(`${found} in openapi.json`);
}

/** The files of an example by path, under another name. */
function copyOf(example: typeof PLAIN, names: Names): Map<string, string> {
  const spellings = new Map([...spellingsIn(namesOf(example.name), names), [example.time, newTime()]]);
  const known = new RegExp([...spellings.keys()].map((spelling) => RegExp.escape(spelling)).join('|'), 'g');
  const rename = (text: string) => text.replaceAll(known, (spelling) => spellings.get(spelling)!);
  const folder = join(PACKAGE, 'examples', example.name);
  const files = new Map<string, string>();
  for (const path of globSync('{src,test}/**/*.{ts,http}', { cwd: folder }).toSorted()) {
    const text = readFileSync(join(folder, path), 'utf8').replaceAll('\r\n', '\n');
    const imports = text.slice(0, text.indexOf('\n\n')).replaceAll(known, '_');
    if (new RegExp(`\\b${names.one.pascal}\\b`).test(imports))
      refuse(`"${names.many.kebab}" cannot be added: its class would hide another ${names.one.pascal}.`);
    files.set(rename(path), rename(text));
  }
  return files;
}

/**
 * How an example spells its name, the longer spellings first, each with the same spelling of another name. In an example, its
 * name has no other meaning, so the text around the name tells which spelling is meant.
 */
function spellingsIn(example: Names, names: Names): [string, string][] {
  return (['many', 'one'] as const).flatMap((number) => {
    const [{ kebab: was, pascal }, is] = [example[number], names[number]];
    const places = (befores: string[], word: string, after = '') =>
      befores.map((before): [string, string] => [before + was + after, before + word + after]);
    return [
      ...places(["'", ''], is.snake, '_'),
      ...places(["Entity('", 'TABLE ', 'FROM ', ' ON '], is.snake),
      ...places([''], is.camel, 'Id'),
      ...places(['this.', 'readonly '], is.camel),
      ...places([''], is.camel, ': typeof'),
      ...places(['{ '], `'${is.kebab}'`, ':'),
      ...places(["'", '/', '-'], is.kebab),
      ...places([''], is.kebab, '-'),
      [pascal, is.pascal],
      ...places([''], is.words),
    ];
  });
}

/** The current time, or a later time that follows the existing migrations. */
function newTime(): string {
  const times = globSync('src/**/migrations/*.ts').map((path) => Number(/(\d{13})-/.exec(path)?.[1] ?? 0));
  return String(Math.max(Date.now(), ...times.map((time) => time + 1)));
}

/** The list of features with one more at its end. */
async function withModule(text: string, { many }: Names): Promise<string> {
  const { default: ts } = await import('typescript');
  const source = ts.createSourceFile(LIST, text, ts.ScriptTarget.Latest);
  const declared = source.statements.filter(ts.isVariableStatement);
  const features = declared
    .flatMap(({ declarationList }) => declarationList.declarations)
    .find(({ name }) => ts.isIdentifier(name) && name.text === 'FEATURES');
  const firstArray = (
    node: import('typescript').Node,
  ): import('typescript').ArrayLiteralExpression | undefined =>
    ts.isArrayLiteralExpression(node) ? node : ts.forEachChild(node, firstArray);
  const list = features && firstArray(features);
  if (!list) return refuse(`${LIST} has no list FEATURES.`);
  const { elements, end } = list;
  const comma = elements.length === 0 || elements.hasTrailingComma ? '' : ',';
  const head = source.statements.findLast(ts.isImportDeclaration)?.end ?? 0;
  const line = `import { ${many.pascal}Module } from './${many.kebab}/${many.kebab}.module.js';`;
  const imports = `${text.slice(0, head)}\n${line}${head === 0 ? '\n' : ''}`;
  return `${imports}${text.slice(head, end - 1)}${comma}  ${many.pascal}Module,\n${text.slice(end - 1)}`;
}

/** A text formatted as in the service, if the service has prettier. */
async function format(path: string, text: string): Promise<string> {
  const prettier = await import('prettier').catch(() => undefined);
  if (!prettier || !(await prettier.getFileInfo(path)).inferredParser) return text;
  return prettier.format(text, { ...(await prettier.resolveConfig(path)), filepath: path });
}

/** Writes new files, and the list in the place of the old one. Removes all that is new if that fails. */
function write(files: Map<string, string>): void {
  const made: string[] = [];
  try {
    for (const [path, text] of files) {
      const folder = mkdirSync(dirname(path), { recursive: true });
      const file = path === LIST ? `${LIST}.new` : path;
      made.push(folder ?? file, file);
      writeFileSync(file, text, { flag: 'wx' });
    }
    renameSync(`${LIST}.new`, LIST);
  } catch (error) {
    for (const path of made) rmSync(path, { recursive: true, force: true });
    throw error;
  }
}
