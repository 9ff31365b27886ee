import { parseArgs } from 'node:util';
import { OPERATIONS, type OperationName } from './operations.js';
import { SERVERS, type ServerName } from './servers.js';

export interface Options {
  operations: OperationName[];
  servers: ServerName[];
  /** How many clients send at once; each number is measured separately. */
  connections: number[];
  rounds: number;
  /** Length of one measurement. */
  seconds: number;
  /** Length of the load before each measurement. */
  warmUpSeconds: number;
  /** Profile the service's layers instead of the comparison. */
  layers: boolean;
  /** Measure only the service, on tables of growing size, instead of the comparison. */
  growth: boolean;
  /** Folder for the Markdown table and the chart; undefined unless everything is measured in full. */
  out?: string;
}

// Short rounds, so that what else happens on the machine meets all servers alike.
const FULL = { connections: '1,16,64', rounds: '7', seconds: '1' };
const QUICK = { connections: '64', rounds: '3', seconds: '0.5' };

/** Reads the command line. @throws Error that says which option is wrong */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      layers: { type: 'boolean', default: false },
      growth: { type: 'boolean', default: false },
      only: { type: 'string' },
      servers: { type: 'string' },
      connections: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      out: { type: 'string' },
    },
  });
  const { connections, rounds, seconds } = values.quick || values.layers ? QUICK : FULL;
  const isWhole = !values.quick && !values.layers && !values.growth && !values.only && !values.servers;
  return {
    operations: pick('only', values.only, Object.keys(OPERATIONS) as OperationName[]),
    servers: pick(
      'servers',
      values.servers ?? (values.layers ? 'service' : undefined),
      Object.keys(SERVERS) as ServerName[],
    ),
    connections: (values.connections ?? connections).split(',').map((text) => toNumber('connections', text)),
    rounds: toNumber('rounds', values.rounds ?? rounds),
    seconds: toNumber('seconds', values.seconds ?? seconds),
    warmUpSeconds: values.quick ? 0.2 : 0.4,
    layers: values.layers,
    growth: values.growth,
    out: values.out ?? (isWhole ? 'bench/results' : undefined),
  };
}

function pick<Name extends string>(option: string, text: string | undefined, all: Name[]): Name[] {
  if (text === undefined) return all;
  const names = text.split(',') as Name[];
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`--${option} takes ${all.join(', ')}; not ${unknown.join(', ')}`);
  // In the order of the tables.
  return all.filter((name) => names.includes(name));
}

function toNumber(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`--${option} takes a number above 0, not ${text}`);
  return number;
}
