/**
 * The target of a request as a path that Express takes: of some others it would make a URL, which fails, and answer
 * that by itself.
 */
export function toPath(target: string): string {
  const [bare = ''] = target.split('#', 1);
  const path = escapeMalformedPercents(escapeBytes(withoutOrigin(bare)));
  return path.startsWith('/') ? path : `/${path}`;
}

/** RFC 9112, 3.2.2: a target may come with its scheme and host. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
}

/** Node gives each byte beyond ASCII as a character. */
function escapeBytes(target: string): string {
  return target.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** A `%` in the path that encodes nothing stays itself, so that the router does not refuse it before the guard has run. */
function escapeMalformedPercents(target: string): string {
  if (!target.includes('%')) return target;
  const [path = ''] = target.split('?', 1);
  try {
    decodeURIComponent(path);
    return target;
  } catch {
    return path.replaceAll('%', '%25') + target.slice(path.length);
  }
}
