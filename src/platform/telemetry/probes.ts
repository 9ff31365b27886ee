/** Paths that machines request every few seconds, on every instance whatever its role. */
export const PROBES = /^\/(?:health\/(?:live|ready)|metrics)$/;
