import cluster from 'node:cluster';

/** What a worker has the primary hand on to all the others. */
export interface Tale {
  tells: string;
}

/** Tells the other workers of this service; nobody where it is one process. */
export function tellSiblings(what: string): void {
  if (cluster.isWorker) process.send!({ tells: what } satisfies Tale);
}

/** Does something whenever another worker tells of it. */
export function hearSiblings(what: string, act: () => void): void {
  if (cluster.isWorker) process.on('message', (tale: Tale) => tale.tells === what && act());
}
