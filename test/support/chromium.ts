import { existsSync } from 'node:fs';

const PATHS = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** The path of Chromium; undefined if it is not installed. */
export const executablePath = PATHS.find((path) => path && existsSync(path));
if (!executablePath)
  console.warn('No Chromium found, so Swagger UI is not tested: name one in CHROMIUM_PATH.');
