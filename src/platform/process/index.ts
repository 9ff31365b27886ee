export { RELEASE } from './build.js';
export { cannotListen, claimPort, listen, requirePorts } from './claim-port.js';
export { Clock } from './clock.js';
export {
  AreListed,
  AsDecimal,
  AsInteger,
  DatabaseUrl,
  DatabaseUrls,
  EndsIn,
  IsAudience,
  IsClaim,
  IsIssuer,
  isOidcUsed,
  IsSignInQuery,
  Origins,
  URLS,
  WithoutTrailingSlash,
} from './config-rules.js';
export {
  addressIn,
  discoveryUrl,
  fetchJson,
  IdentityProvider,
  type ProviderFacts,
} from './identity-provider.js';
export { fail, Lifecycle, OperatorError, StartBlock, type Stoppable, unlessStopped } from './lifecycle.js';
export { Quota, type Requester, RoundRobin } from './quota.js';
export {
  answerPrimary,
  answerWorkers,
  ask,
  askPrimary,
  broadcast,
  liveWorkers,
  onBroadcast,
  relayBroadcasts,
} from './worker-channel.js';
