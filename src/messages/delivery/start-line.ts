import type { Config } from '../../config.js';
import type { Transport } from '../transport.js';

/** What the start block says about the delivery of messages. */
export function startLine({ ROLE }: Config, transport: Transport | null): string {
  if (ROLE === 'api') return 'queued for processes with ROLE=worker';
  if (!transport) return 'queued until MESSAGES_WEBHOOK_URL is set';
  return `delivered to ${transport.destination}`;
}
