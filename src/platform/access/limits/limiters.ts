import { Limiter } from './limiter.js';

/** Sign-ups, changes of the email and failed log-ins, per address and per account. */
export class AuthLimiter extends Limiter {}

/** Requests per API key. */
export class KeyLimiter extends Limiter {}
