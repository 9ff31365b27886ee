/** What Node's HTTP server puts up with. */
export const HTTP_LIMITS = {
  /** A request whose headers and body have not arrived after this many milliseconds is answered 408. */
  requestTimeout: 15_000,
  headersTimeout: 15_000,
  /** How often Node looks for such requests, in milliseconds. Its default of 30 s would double the wait. */
  connectionsCheckingInterval: 500,
  /** Longer than the idle time of common load balancers (60 s), so that these close first. */
  keepAliveTimeout: 65_000,
  /** Bytes; larger headers are answered 431. */
  maxHeaderSize: 16_384,
  /** Checked by `requireHost`: Node's own refusal has no body. */
  requireHostHeader: false,
};
