import type { CommandEnvironment } from '../command.js';

/** `petstore admin` */
export async function admin(args: string[], environment: CommandEnvironment): Promise<number> {
  await environment.parts();
  const { adminLine } = await import('./commands.js');
  return adminLine(environment).run(args);
}
