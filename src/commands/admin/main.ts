import type { Surroundings } from '../command.js';

/** `petstore admin` */
export async function admin(args: string[], surroundings: Surroundings): Promise<number> {
  await surroundings.parts();
  const { adminLine } = await import('./commands.js');
  return adminLine(surroundings).run(args);
}
