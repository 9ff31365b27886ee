import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Checkout } from '../../support/checkout.js';
import { expectToPass } from '../../support/expect-to-pass.js';
import { ROOT } from '../../support/npm.js';

/** Files of tests that hold for whatever a module adds. */
const OTHERS = [
  'platform/conventions',
  'platform/migrations',
  'samples',
  'clients',
  'platform/plans',
  'platform/fuzz',
  'openapi',
];

/** What a team adds elsewhere: the file, the place before which it stands, and the lines. */
const LINES: [file: string, before: string, lines: string[]][] = [
  [
    'src/features.ts',
    '\n/** The features',
    ["import { PetclinicModule } from './petclinic/petclinic.module.js';"],
  ],
  ['src/features.ts', ']);', ['  PetclinicModule,']],
];

const isFree = !['owners', 'vets', 'visits'].some((name) => existsSync(join(ROOT, 'src', name)));

(isFree ? test : test.skip)(
  'examples/petclinic passes all checks beside the product, of which it changes nothing but lists',
  async () => {
    const checkout = Checkout.copy();
    for (const folder of ['src', 'test']) checkout.add(`examples/petclinic/${folder}`, folder);
    for (const [file, before, lines] of LINES) checkout.insert(file, before, `${lines.join('\n')}\n`);
    await expectToPass(checkout, ['petclinic'], OTHERS, '^/(?:owners|vets|specialties|visits)|/visits$');
    checkout.remove();
  },
  900_000,
);
