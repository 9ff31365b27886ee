/** Of the path of a route of version 1, to which the paths of the document are relative. */
export const FIRST_VERSION = /^\/v1(?=\/)/;

/** Of the path of a route of another version, which the document has as a whole. */
export const LATER_VERSION = /^\/v(?!1\/)\d+(?=\/)/;
