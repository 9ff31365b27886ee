/** Leaves the name of the document's file out: the description links to it. */
export function accessibility() {
  return { components: { InfoUrl: () => null } };
}
