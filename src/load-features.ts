import type { Type } from '@nestjs/common';
import type { ProductFacts } from './platform/docs/index.js';
import type { Features } from './platform/features/index.js';

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

/** What a service is made of beside the platform. */
export interface Parts {
  readonly features: Features;
  /** What it says of itself in the place of what the pet store says. */
  readonly product: Partial<ProductFacts>;
}

/**
 * Loads the features of a service, and has this process know what they declare.
 * @throws OperatorError if they do not fit together
 */
export async function loadParts(options: PetstoreOptions = {}): Promise<Parts> {
  const { features = [], without, product = {} } = options;
  const { Features } = await import('./platform/features/index.js');
  const { FEATURES } = await import('./features.js');
  const further = typeof features === 'function' ? await features() : features;
  return { features: Features.of(FEATURES, { further, without }).declare(), product };
}
