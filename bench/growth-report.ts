/** A cost that grows by less than this factor is noise of the machine. */
const TOLERANCE = 1.2;

/** Medians. */
export interface Cost {
  /** PostgreSQL's own time, in ms, and the 8 kB pages that it touches. */
  execution: number;
  buffers: number;
  /** From the request to the answer over one connection, in ms. */
  latency: number;
}

interface Growth {
  /** Of the requests. */
  titles: string[];
  /** What there was at each measurement; the last is the one before in partitions. */
  stages: string[];
  /** By stage, then by request. */
  costs: Cost[][];
  /** How often each request was made. */
  runs: number;
  /** Animals added a second, in the end. */
  rate: number;
  /** Of PostgreSQL. */
  version: string;
}

/** What the same requests cost on growing tables, in Markdown. */
export function growthReport({ titles, stages, costs, runs, rate, version }: Growth): string {
  const parts = (['execution', 'buffers', 'latency'] as const).flatMap((what) => [
    `## ${TITLES[what]}`,
    '',
    ...tableOf(
      titles,
      stages,
      costs.map((stage) => stage.map((cost) => cost[what])),
      what === 'buffers' ? 0 : 3,
    ),
    '',
  ]);
  return [
    '# Growth',
    '',
    `${new Date().toISOString().slice(0, 10)}, ${version}: the same requests on more and more animals, of which one in 1,000 is`,
    `\`available\`, nearly all are sold. Medians of ${runs} runs; PostgreSQL's figures by \`EXPLAIN (ANALYZE, BUFFERS)\` of the service's own prepared`,
    `statements, latency over one connection each, in turns. The last animals were added at ${whole(rate)} a second. A ratio above ${TOLERANCE} is`,
    `marked with \`!\`.`,
    '',
    ...parts,
  ].join('\n');
}

const TITLES = { execution: 'ms in PostgreSQL', buffers: 'Pages of 8 kB', latency: 'ms over HTTP' };

function tableOf(titles: string[], stages: string[], values: number[][], digits: number): string[] {
  const head = ['Request', ...stages, 'largest ÷ middle', 'partitions ÷ plain'];
  const rows = titles.map((title, i) => {
    const [middle, largest, parted] = values.slice(-3).map((stage) => stage[i]!) as [number, number, number];
    const figures = values.map((stage) => stage[i]!.toFixed(digits));
    return [title, ...figures, ratio(largest, middle), ratio(parted, largest)];
  });
  return [head, head.map((_cell, i) => (i ? '--:' : '---')), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
}

function ratio(one: number, other: number): string {
  return `${(one / other).toFixed(2)}${one / other > TOLERANCE ? ' !' : ''}`;
}

export const whole = (value: number) => Math.round(value).toLocaleString('en');
