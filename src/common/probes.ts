/** Paths that machines ask for every few seconds, on every instance and whatever its role. */
export const PROBES = /^\/(?:health\/|metrics$)/;
