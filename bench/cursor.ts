/** The position after an animal as the service writes it; every server of the benchmark accepts the same. */
export function encodeCursor(id: string): string {
  return Buffer.from(`after:${id}`).toString('base64url');
}
