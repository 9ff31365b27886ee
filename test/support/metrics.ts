import { eventually } from './npm.js';

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** The text last read from each address. */
const last = new Map<string, string>();

/**
 * Reads the current metrics of a service, or those at an address. As an answer is cached for a second, waits
 * for a new answer, in which figures of the process differ.
 */
export async function readMetrics({ url }: { url: string }): Promise<Sample[]> {
  const address = url.endsWith('/metrics') ? url : `${url}/metrics`;
  const before = last.get(address);
  let text = '';
  await eventually(async () => (text = await scrape(address)) !== before);
  last.set(address, text);
  const lines = text.split('\n').filter((line) => line && !line.startsWith('#'));
  const samples = lines.map(toSample);
  const names = samples.map(({ name, labels }) => JSON.stringify([name, labels]));
  // Prometheus rejects a page on which a sample is repeated.
  expect(new Set(names).size).toBe(names.length);
  return samples;
}

async function scrape(address: string): Promise<string> {
  const response = await fetch(address);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return response.text();
}

/** The sum of the samples with a name and these labels. */
export function valueOf(samples: Sample[], name: string, labels: Record<string, string> = {}): number {
  const wanted = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return wanted.reduce((sum, { value }) => sum + value, 0);
}

function toSample(line: string): Sample {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)!;
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text]);
  return { name: name!, labels: Object.fromEntries(pairs), value: Number(value) };
}
