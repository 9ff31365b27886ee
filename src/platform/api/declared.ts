/** The codes of all errors, for the compiler: each `*.errors.ts` adds its own. */
export interface DeclaredErrors {}

/** The names of all permissions, for the compiler: each `*.permissions.ts` adds its own. */
export interface DeclaredPermissions {}
