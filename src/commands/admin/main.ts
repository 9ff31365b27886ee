import { loadFeatures } from '../../load-features.js';
import type { Surroundings } from '../command.js';

/** `petstore admin` */
export async function admin(args: string[], surroundings: Surroundings): Promise<number> {
  // Before auth, which reads the list of permissions.
  await loadFeatures();
  const { adminLine } = await import('./commands.js');
  return adminLine(surroundings).run(args);
}
