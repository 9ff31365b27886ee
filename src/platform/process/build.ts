import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The release of the service that runs, such as `1.1.0`, or `1.2.0-dev` on the way to one: the version of its package. */
export const RELEASE: string = JSON.parse(readFileSync(findPackageJSON(import.meta.url)!, 'utf8')).version;
