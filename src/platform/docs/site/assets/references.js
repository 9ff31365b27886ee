/**
 * Puts what a part of the document refers to in its place, for Swagger UI to show. Its own resolver comes to the same, but
 * builds a model of the whole document for each part: two thirds of the time in which this page opened, and half a second
 * more for each panel.
 */
export const references = {
  fn: {
    resolveSubtree: async (document, path, { baseDoc }) => {
      const part = path.reduce((node, name) => node?.[name], document);
      return { spec: part ? resolved(part, { document, baseDoc }, []) : null, errors: [] };
    },
  },
};

/** @param within the references that have led here: one of them again is left as it is */
function resolved(node, source, within) {
  if (node === null || typeof node !== 'object') return node;
  if (Array.isArray(node)) return node.map((item) => resolved(item, source, within));
  const all = Object.entries(node).map(([name, value]) => [name, resolved(value, source, within)]);
  const { $ref, ...own } = Object.fromEntries(all);
  const found = within.includes($ref) ? undefined : target($ref, source.document);
  if (!found) return node.$ref === undefined ? own : { $ref, ...own };
  return { ...resolved(found, source, [...within, $ref]), ...own, $$ref: source.baseDoc + $ref };
}

/** What a reference within the document leads to, a JSON pointer in a fragment (RFC 6901, 6); undefined for any other. */
function target(reference, document) {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined;
  const names = decodeURIComponent(reference).split('/').slice(1);
  return names.reduce((node, name) => node?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}
