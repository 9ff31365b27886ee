/**
 * The request target as a path that Express can route. It would parse other forms as URLs, and answer a failure itself,
 * in its own shape.
 */
export function toPath(target: string): string {
  const [bare = ''] = target.split('#', 1);
  const path = escapeMalformedPercents(escapeBytes(withoutOrigin(bare)));
  return path.startsWith('/') ? path : `/${path}`;
}

/** RFC 9112, 3.2.2: a target may include its scheme and host. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
}

/** Node turns each non-ASCII byte into one character. */
function escapeBytes(target: string): string {
  return target.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** If the path cannot be decoded, its `%` are taken literally: the router must not refuse it before the guard runs. */
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
