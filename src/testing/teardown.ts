import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** Has the PostgreSQL of the tests end, and what they left removed, which takes seconds, and which nobody waits for. */
export default function tearDown(): void {
  const { sharedService, testsRemain } = globalThis as unknown as {
    sharedService: ChildProcess;
    testsRemain: Socket;
  };
  sharedService.kill('SIGKILL');
  testsRemain.end();
}
