import { Session } from 'node:inspector/promises';

/**
 * Loaded into a server with `--import`. It starts a CPU profile at the first message from its parent, and sends it at
 * the second: it covers only the load, not the start.
 */
const session = new Session();
session.connect();
let isRunning = false;

process.on('message', () => void (isRunning ? stop() : start()));
// The channel must not keep the server alive.
process.channel?.unref();

async function start(): Promise<void> {
  isRunning = true;
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 250 });
  await session.post('Profiler.start');
  process.send!({});
}

async function stop(): Promise<void> {
  isRunning = false;
  process.send!((await session.post('Profiler.stop')).profile);
}
