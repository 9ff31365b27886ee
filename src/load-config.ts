import { existsSync } from 'node:fs';
import { type Config, readConfig } from './config.js';
import { loadFeatures } from './load-features.js';

/**
 * The environment of this process, with what a file `.env` adds to it.
 * @throws OperatorError as `readConfig` does
 */
export async function loadConfig(): Promise<Config> {
  if (existsSync('.env')) process.loadEnvFile();
  // The features say which permissions there are, and take a third of a second to load.
  if (process.env.ACCOUNT_PERMISSIONS) await loadFeatures();
  return readConfig(process.env);
}
