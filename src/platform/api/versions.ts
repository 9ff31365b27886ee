const ANY_VERSION = /^\/v\d+(?=\/)/;
const FIRST_VERSION = '/v1';

/** The version that the path of a route begins with, such as `/v1`; the empty string for one without. */
export function versionOf(path: string): string {
  return ANY_VERSION.exec(path)?.[0] ?? '';
}

/** A path without the version that it begins with. */
export function withoutVersion(path: string): string {
  return path.slice(versionOf(path).length);
}

/** Whether a path is of a version after the first. Those paths keep their version in the OpenAPI document. */
export function isLaterVersion(path: string): boolean {
  return !['', FIRST_VERSION].includes(versionOf(path));
}

/** A server's address above its versions: the configured ones end in `/v1`. */
export function aboveVersions(baseUrl: string): string {
  return baseUrl.endsWith(FIRST_VERSION) ? baseUrl.slice(0, -FIRST_VERSION.length) : baseUrl;
}
