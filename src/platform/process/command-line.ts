import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../commands/petstore.js', import.meta.url));

/** How a command is run here: by its script in the package.json of a repository; in an image, which has no sources, by its file. */
export function commandLine(name: string): string {
  if (existsSync('src') && existsSync('package.json')) {
    const { scripts = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts?: Record<string, string>;
    };
    const script = Object.keys(scripts).find((one) =>
      new RegExp(`petstore(?:\\.js)? ${name}$`).test(scripts[one]!),
    );
    if (script) return `npm run ${script}`;
  }
  return `node ${relative('', PROGRAM)} ${name}`;
}
