import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** Ends the services of the tests, and starts the removal of their data, which takes seconds, without waiting. */
export default function tearDown(): void {
  const { sharedService, cleanup } = globalThis as unknown as {
    sharedService: ChildProcess;
    cleanup: Socket;
  };
  sharedService.kill('SIGKILL');
  cleanup.end();
}
