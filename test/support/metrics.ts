/** One sample of `/metrics`. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads the metrics of a service, or those at an address. */
export async function readMetrics({ url }: { url: string }): Promise<Sample[]> {
  const response = await fetch(url.endsWith('/metrics') ? url : `${url}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).split('\n').filter((line) => line && !line.startsWith('#'));
  const samples = lines.map(toSample);
  const names = samples.map(({ name, labels }) => JSON.stringify([name, labels]));
  // Prometheus rejects a page on which a sample is repeated.
  expect(new Set(names).size).toBe(names.length);
  return samples;
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
