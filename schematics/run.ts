import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SchematicsException } from '@angular-devkit/schematics';
import { NodeWorkflow } from '@angular-devkit/schematics/tools/index.js';

/** The schematics as they stand here: sources in the repository, built ones in the package. */
const COLLECTION = fileURLToPath(new URL(`collection${extname(import.meta.url)}.json`, import.meta.url));

/** Runs a schematic in the working directory, and tells what it writes. */
export async function execute({
  schematic,
  options,
  dryRun = false,
  ask = () => {},
}: {
  schematic: string;
  options: object;
  dryRun?: boolean;
  /** Lets it ask for what its schema has questions for. */
  ask?: (workflow: NodeWorkflow) => void | Promise<void>;
}): Promise<void> {
  const workflow = new NodeWorkflow(process.cwd(), { schemaValidation: true, dryRun });
  await ask(workflow);
  workflow.reporter.subscribe((event) => {
    if (event.kind === 'create' || event.kind === 'update') console.log(event.kind, event.path.slice(1));
  });
  await workflow.execute({ collection: COLLECTION, schematic, options }).toPromise();
}

/** Runs a program, which ends with 2 and one line where it was called wrongly. */
export async function report(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    // A person ended the questions.
    const isEnded = error instanceof Error && error.name === 'ExitPromptError';
    if (!(error instanceof SchematicsException) && !isEnded) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}

/** @throws SchematicsException */
export function refuseUsage(message: string): never {
  throw new SchematicsException(message);
}
