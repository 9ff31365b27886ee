import { SchematicsException, type Tree } from '@angular-devkit/schematics';

/** Writes a text before the first place in a file that is like that. */
export function insertBefore(path: string, place: RegExp | string, text: string): (tree: Tree) => void {
  return (tree) => {
    const before = tree.readText(path);
    const at = typeof place === 'string' ? before.indexOf(place) : before.search(place);
    if (at < 0)
      throw new SchematicsException(
        `${path} has no line like ${String(place)}, before which a line is to stand.`,
      );
    tree.overwrite(path, before.slice(0, at) + text + before.slice(at));
  };
}
