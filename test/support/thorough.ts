/** Whether this is a run of the night (`npm run test:long`), which tries more cases of the same facts. */
export const isThorough = 'isThorough' in globalThis;
