import type { Type } from '@nestjs/common';
import type { ProductFacts } from './platform/docs/index.js';

/** What a service has beside, or instead of, what the pet store has. */
export interface PetstoreOptions {
  /**
   * Further features: modules with `@Feature`, or a function that loads them. A function is better where OpenTelemetry is
   * configured, which has to be loaded before what it traces.
   */
  features?: readonly Type[] | (() => Promise<readonly Type[]>);
  /** Names of features of the pet store that the service does without: `['messages']`. */
  without?: readonly string[];
  /** What the document and the pages say of the whole service, in the place of what they say of the pet store. */
  product?: Partial<ProductFacts>;
}

let options: PetstoreOptions = {};

/** Says which features this process is to have, before any is loaded. */
export function useFeatures(chosen: PetstoreOptions): void {
  options = chosen;
}

/** What this process says of itself in the place of what the pet store says. */
export function chosenFacts(): Partial<ProductFacts> {
  return options.product ?? {};
}

/**
 * Loads and installs the features of this process.
 * @throws OperatorError if they do not fit together
 */
export async function loadFeatures(): Promise<void> {
  const { features = [], without = [] } = options;
  const { chooseFeatures, requireOneOfEach } = await import('./platform/features/index.js');
  if (features.length > 0 || typeof features === 'function') requireOneOfEach();
  const further = typeof features === 'function' ? await features() : features;
  chooseFeatures({ further, without });
  await import('./features.js');
}
