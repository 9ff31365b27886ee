import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { samplesOf } from '../../src/platform/docs/openapi/call-samples.js';
import { startService } from '../../src/testing/service.js';
import { hasRequests, LANGUAGES } from '../support/languages.js';
import { newFolder, removeFolders } from '../support/npm.js';
import { runSamples } from '../support/samples.js';

const run = promisify(execFile);

if (!hasRequests) console.warn('No python3 with requests found, so the code samples in Python are not run.');

afterAll(removeFolders);

test.each(['TypeScript', ...(hasRequests ? ['Python'] : [])])(
  'The code samples in %s succeed as they stand, one after another, on a new service',
  async (label) => {
    const service = await startService();
    await runSamples(service, label);
    await service.stop();
  },
  180_000,
);

test.each(Object.keys(LANGUAGES).filter((label) => label !== 'Python' || hasRequests))(
  'The code samples in %s send files of their reader, by their names, alone and in a form',
  async (label) => {
    const folder = newFolder();
    const sent: { type?: string; body: string }[] = [];
    const receiver = createServer((request, response) => {
      const answer = async () => {
        sent.push({ type: request.headers['content-type'], body: await text(request) });
        response.setHeader('Content-Type', 'application/json').end('{}');
      };
      void answer();
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const { port } = receiver.address() as AddressInfo;
    await writeFile(join(folder, "Luna's.csv"), 'id,name\n1,Luna\n');
    const file = { type: 'text/csv', file: "Luna's.csv" };
    const call = { method: 'POST', url: `http://127.0.0.1:${port}/`, access: 'public' } as const;
    const form = [
      { name: 'rows', ...file },
      { name: 'caption', text: 'Dogs' },
    ];
    for (const what of [{ content: file }, { form }]) {
      const { source } = samplesOf({ ...call, ...what }).find((one) => one.label === label)!;
      await run(...LANGUAGES[label]!(source), { cwd: folder });
    }
    receiver.close();
    expect(sent[0]).toEqual({ type: 'text/csv', body: 'id,name\n1,Luna\n' });
    expect(sent[1]!.type).toMatch(/^multipart\/form-data/);
    for (const part of [/name="rows"; filename="Luna's.csv"/, /text\/csv/, /1,Luna/, /name="caption"\s+Dogs/])
      expect(sent[1]!.body).toMatch(part);
  },
);
