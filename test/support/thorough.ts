/** Whether this is the nightly run (`npm run test:long`), which tries more cases of the same facts. */
export const isThorough = 'isThorough' in globalThis;
