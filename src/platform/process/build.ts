import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The running release, such as `1.1.0`, or `1.2.0-dev` before a release: the version of the package. */
export const RELEASE: string = JSON.parse(readFileSync(findPackageJSON(import.meta.url)!, 'utf8')).version;
