import { OPERATIONS } from './operations.js';
import { type ServerName, SERVERS } from './servers.js';
import type { Row } from './summary.js';

const COLUMNS = 2;
const PANEL = { width: 440, title: 26, bar: 17, step: 23, gap: 28 };
const LABEL_WIDTH = 128;
const VALUE_WIDTH = 64;
const MARGIN = 32;
const HEADER = 92;

const STYLE = `
  svg { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; }
  .page { fill: #ffffff; stroke: #d9dee5; } .title { fill: #14202e; font-size: 20px; font-weight: 650; }
  .note { fill: #5b6878; font-size: 12.5px; } .panel { fill: #14202e; font-size: 14px; font-weight: 600; }
  .label, .value { fill: #445062; font-size: 12px; } .value { font-variant-numeric: tabular-nums; }
  .own { fill: #0b57d0; font-weight: 650; }
  .track { fill: #f1f4f8; } .service { fill: #0b6bde; } .http { fill: #7f8fa3; } .express { fill: #93a2b4; }
  .fastify { fill: #a8b5c4; } .nest { fill: #d39a4c; } .transaction { fill: #5f9d8f; } .statement { fill: #84b8ab; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0f151d; stroke: #2a3441; } .title, .panel { fill: #eef3f9; } .note { fill: #93a1b3; }
    .label, .value { fill: #b6c2d0; } .own { fill: #7fb6ff; } .track { fill: #1a232e; } .service { fill: #4a9bff; }
    .http { fill: #8292a6; } .express { fill: #6f7f93; } .fastify { fill: #5d6c80; } .nest { fill: #c48a3d; }
    .transaction { fill: #5aa393; } .statement { fill: #467f73; }
  }`;

/** Bars of server CPU per request: a panel per operation, a bar per server; light or dark like the reader's screen. */
export function drawChart(rows: Row[], caption: string): string {
  const operations = [...Map.groupBy(rows, ({ operation }) => operation)];
  const servers = Math.max(...operations.map(([, group]) => group.length));
  const height = PANEL.title + servers * PANEL.step + PANEL.gap;
  const width = COLUMNS * PANEL.width + 3 * MARGIN;
  const total = HEADER + Math.ceil(operations.length / COLUMNS) * height - PANEL.gap / 2 + MARGIN;
  const panels = operations.map(([operation, group], i) => {
    const x = MARGIN + (i % COLUMNS) * (PANEL.width + MARGIN);
    const y = HEADER + Math.floor(i / COLUMNS) * height;
    return `<g transform="translate(${x} ${y})">${drawPanel(OPERATIONS[operation].title, group)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}" role="img"`,
    `  aria-label="Server CPU per request by operation and server, in microseconds; shorter is better">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${total - 1}" rx="12"/>`,
    `<text class="title" x="${MARGIN}" y="44">Server CPU per request</text>`,
    `<text class="note" x="${MARGIN}" y="66">Microseconds; shorter is better. Each panel has a scale of its own. ${escape(caption)}</text>`,
    ...panels,
    '</svg>',
    '',
  ].join('\n');
}

function drawPanel(title: string, rows: Row[]): string {
  const longest = Math.max(...rows.map(({ serverCpu }) => serverCpu));
  const bars = rows.map((row, i) => drawBar(row, PANEL.title + i * PANEL.step, row.serverCpu / longest));
  return `\n<text class="panel" x="0" y="12">${escape(title)}</text>\n${bars.join('\n')}\n`;
}

function drawBar({ server, serverCpu }: { server: ServerName; serverCpu: number }, y: number, share: number) {
  const room = PANEL.width - LABEL_WIDTH - VALUE_WIDTH;
  const length = Math.max(2, room * share);
  const baseline = y + PANEL.bar - 4.5;
  const own = server === 'service' ? ' own' : '';
  return [
    `<text class="label${own}" x="0" y="${baseline}">${escape(SERVERS[server].title)}</text>`,
    `<rect class="track" x="${LABEL_WIDTH}" y="${y}" width="${room}" height="${PANEL.bar}" rx="4"/>`,
    `<rect class="${server}" x="${LABEL_WIDTH}" y="${y}" width="${length.toFixed(1)}" height="${PANEL.bar}" rx="4"/>`,
    `<text class="value${own}" x="${PANEL.width}" y="${baseline}" text-anchor="end">${format(serverCpu)}</text>`,
  ].join('');
}

function format(microseconds: number): string {
  return `${Math.round(microseconds).toLocaleString('en')} µs`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
