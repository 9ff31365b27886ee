/** Where class-transformer keeps the metadata of its decorators; its types are not published under this path. */
declare module 'class-transformer/cjs/storage.js' {
  export { defaultMetadataStorage } from 'class-transformer/types/storage.js';
}
