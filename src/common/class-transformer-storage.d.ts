/** Where class-transformer keeps what its decorators say; it has types, but not under the path of its code. */
declare module 'class-transformer/cjs/storage.js' {
  export { defaultMetadataStorage } from 'class-transformer/types/storage.js';
}
