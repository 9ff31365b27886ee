import type { Config } from '../../../config.js';

/** RFC 8631: where a program that comes to the front door finds the interface. */
const LINKS = [
  '</openapi.json>; rel="service-desc"; type="application/json"',
  '</openapi.yaml>; rel="service-desc"; type="text/yaml"',
  '</docs>; rel="service-doc"; type="text/html"',
  '</health/ready>; rel="status"',
];

export const FRONT_DOOR = { Link: LINKS.join(', ') };

/**
 * Headers of every page. It runs nothing but its own files, calls nothing but this service and the addresses of the
 * configuration, and no other page may frame it or read it.
 */
export function pageHeaders({ BASE_URL, STAGING_URL, API_URL }: Config): Record<string, string> {
  const called = [BASE_URL, STAGING_URL, API_URL].flatMap((url) => (url ? [new URL(url).origin] : []));
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    // Swagger UI's style sheet has its arrows and crosses in itself.
    'img-src': "'self' data:",
    'connect-src': ["'self'", ...new Set(called)].join(' '),
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  };
  return {
    'Content-Security-Policy': Object.entries(policy)
      .map((directive) => directive.join(' '))
      .join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  };
}
