import { decimalText, numberText, unitsOf } from './decimal.js';
import { field, type FieldDecorator, type FieldOptions, type Rule, UNREADABLE } from './field.js';

interface Amounts {
  /** The least and the most, as texts. */
  min?: string;
  max?: string;
  decimals?: number;
  /** What JSON has: a text, which no client rounds, or a number. */
  as?: 'text' | 'number';
}

/**
 * An amount of money, or any other exact decimal number: inside the service a text with all its decimals such as `12.50`,
 * as a column `numeric(12,2)` has it. No digit goes through a float.
 * @param options `min` is 0 and `max` what that column holds, where left out
 */
export function MoneyField(options: FieldOptions & Amounts): FieldDecorator {
  const { decimals = 2, min = '0', max = '9999999999.99', as = 'text' } = options;
  const [least, most] = [unitsOf(min, decimals), unitsOf(max, decimals)];
  if (least === undefined || most === undefined)
    throw new TypeError(`${min} and ${max} must be numbers with at most ${decimals} decimals`);
  const unitsIn = (text: string) => {
    const units = unitsOf(text, decimals);
    return units !== undefined && units >= least && units <= most ? units : undefined;
  };
  const read = (text: string) => {
    const units = unitsIn(text);
    return units === undefined ? UNREADABLE : decimalText(units, decimals);
  };
  const kind = as === 'text' ? textKind(decimals, least, read) : numberKind(min, max, read);
  const range = `from ${decimalText(least, decimals)} to ${decimalText(most, decimals)}`;
  return field(options, {
    ...kind,
    schema: {
      ...kind.schema,
      ...{ format: 'decimal', 'x-minimum': min, 'x-maximum': max, 'x-decimals': decimals },
    },
    must: `${kind.must} ${range}, with at most ${decimals} decimals`,
    accepts: (value) => typeof value === 'string' && unitsIn(value) !== undefined,
  });
}

type Kind = Omit<Rule, 'accepts'>;
type ReadText = (text: string) => unknown;

function textKind(decimals: number, least: bigint, read: ReadText): Kind {
  const fraction = decimals > 0 ? `(?:[.][0-9]{1,${decimals}})?` : '';
  const pattern = `^${least < 0n ? '-?' : ''}(?:0|[1-9][0-9]*)${fraction}$`;
  const plain = new RegExp(pattern);
  return {
    schema: { type: 'string', pattern },
    must: 'text with a number',
    read: (value) => (typeof value === 'string' && plain.test(value) ? read(value) : UNREADABLE),
    write: (digits) => `"${digits as string}"`,
  };
}

function numberKind(min: string, max: string, read: ReadText): Kind {
  const isNumber = (value: unknown) => typeof value === 'number' || typeof value === 'bigint';
  return {
    schema: { type: 'number', minimum: Number(min), maximum: Number(max) },
    must: 'a number',
    read: (value, ...place) => (isNumber(value) ? read(numberText(value, ...place)) : UNREADABLE),
    write: (digits) => digits as string,
  };
}
