import type { Placed } from '../../src/testing/document.js';

/** The tags of the product. Others come with additional features. */
const PRODUCT = new Set(['accounts', 'pets', 'categories', 'store', 'messages']);

/** Whether an operation belongs to the product, and not to an additional feature. */
export const isOfProduct = ({ operation }: Placed) => PRODUCT.has(operation.tags[0]!);
