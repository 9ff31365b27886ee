import { execFileSync } from 'node:child_process';
import setUp from '../../../dist/src/testing/setup.js';

export default async function setUpNight() {
  const options = { cwd: import.meta.dirname, shell: process.platform === 'win32' };
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], options);
  await setUp();
}
