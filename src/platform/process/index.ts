export * from './cached.js';
export * from './claim-port.js';
export * from './config-rules.js';
export * from './identity-provider.js';
export * from './lifecycle.js';
export * from './quota.js';
export * from './shown-error.js';
export * from './within.js';
