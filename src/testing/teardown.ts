import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** Ends the shared service, and starts the removal of the data without waiting, as that takes seconds. */
export default function tearDown(): void {
  const { sharedService, cleanup } = globalThis as unknown as {
    sharedService: ChildProcess;
    cleanup: Socket;
  };
  sharedService.kill('SIGKILL');
  cleanup.end();
}
