import { execFileSync } from 'node:child_process';
import setUp from '../../../dist/src/testing/setup.js';

/** The set-up of all tests, once the packages of this folder are there. */
export default async function setUpNight() {
  const options = { cwd: import.meta.dirname, shell: process.platform === 'win32' };
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], options);
  await setUp();
}
