/** Every error that is declared: each `*.errors.ts` adds its own, so that the compiler knows their codes. */
export interface DeclaredErrors {}

/** Every permission that is declared: each `*.permissions.ts` adds its own, so that the compiler knows their names. */
export interface DeclaredPermissions {}
