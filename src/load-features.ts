import type { Type } from '@nestjs/common';
import type { ProductFacts } from './platform/docs/index.js';
import type { Features } from './platform/features/index.js';

/** How a service differs from the pet store. */
export interface PetstoreOptions {
  /**
   * Features to add: modules with `@Feature`, or a function that loads them. With OpenTelemetry, use a function:
   * OpenTelemetry must load before the modules that it traces.
   */
  features?: readonly Type[] | (() => Promise<readonly Type[]>);
  /** Names of features of the pet store to leave out: `['messages']`. */
  without?: readonly string[];
  /** Texts about the whole service, for the document and the pages, that replace those of the pet store. */
  product?: Partial<ProductFacts>;
}

/** The features and the texts of a service. */
export interface Parts {
  readonly features: Features;
  readonly product: Partial<ProductFacts>;
}

/** Loads the features of a service; start the service inside `features.run`. @throws OperatorError if they conflict */
export async function loadParts(options: PetstoreOptions = {}): Promise<Parts> {
  const { features = [], without, product = {} } = options;
  const { Features } = await import('./platform/features/index.js');
  const { FEATURES } = await import('./features.js');
  const { DECLARATIONS } = await import('./auth/auth.declarations.js');
  const further = typeof features === 'function' ? await features() : features;
  const always = [{ name: 'auth', ...DECLARATIONS }];
  return { features: Features.of(FEATURES, without, further, always), product };
}
