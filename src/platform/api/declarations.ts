import type { PLATFORM_ERRORS } from './platform.errors.js';

/** The definition of an error. */
export interface ErrorFacts {
  readonly status: number;
  readonly meaning: string;
  /** What a client should do, if the status does not say it. */
  readonly advice?: string;
}

/** The errors and permissions that a feature declares, in its `*.declarations.ts`. */
export interface Declarations {
  /** Its errors by code. */
  readonly errors?: Readonly<Record<string, ErrorFacts>>;
  /** The meanings of its permissions, such as `vets:read` and `vets:write`. */
  readonly permissions?: Readonly<Record<string, string>>;
}

/** The declarations of all features, for the compiler: each `*.declarations.ts` adds its own. */
export interface DeclaredFeatures {
  platform: { readonly errors: typeof PLATFORM_ERRORS };
}

type NamesIn<Kind extends keyof Declarations> = {
  [Feature in keyof DeclaredFeatures]: DeclaredFeatures[Feature] extends {
    readonly [kind in Kind]: infer Named;
  }
    ? keyof Named
    : never;
}[keyof DeclaredFeatures];

/** The code of an error, on which clients switch. A code never changes its meaning. */
export type ErrorCode = NamesIn<'errors'>;

/** The name of a permission. Keys and accounts store names, so a permission never changes its meaning. */
export type Permission = NamesIn<'permissions'>;
