import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validateSync } from 'class-validator';
import fc, { type Arbitrary } from 'fast-check';
import { compileDto } from '../src/platform/api/compiled-dto.js';
import { UNREADABLE, writersOf } from '../src/platform/api/field.js';
import { PageQuery } from '../src/platform/api/paging.js';
import { listSerializer, serializer } from '../src/platform/api/serializer.js';
import { ROOT } from './support/npm.js';

type Values = Record<string, unknown>;

const dtos = await everyDto();
const cases = dtos.map((type): [string, Type<object>] => [type.name, type]);

/** Every class of the files `*.dto.ts`, and the query parameters of lists. */
async function everyDto(): Promise<Type<object>[]> {
  const files = readdirSync(`${ROOT}/src`, { recursive: true, encoding: 'utf8' });
  const paths = files.filter((path) => path.endsWith('.dto.ts'));
  const modules = await Promise.all(paths.map((path) => import(`../src/${path.replace(/\.ts$/, '.js')}`)));
  const classes = modules.flatMap((module) => Object.values(module as Record<string, Type<object>>));
  return [...classes.filter((type) => namesOf(type).length > 0), PageQuery];
}

/** The properties that have rules. */
function namesOf(type: Type<object>): string[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  return [...new Set(rules.map(({ propertyName }) => propertyName))];
}

const cursorOf = (text: string) => Buffer.from(text).toString('base64url');
const digits = fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String);
const VALID = [
  'available',
  'placed',
  'delivered',
  'queued',
  'grace@example.com',
  'correct horse battery',
  '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70',
  '2030-01-31T12:00:00Z',
  '9999-12-31T23:59:59-23:59',
  cursorOf('after:17'),
  '1,2,3',
];
const HOSTILE = [
  [
    '007',
    '+5',
    '1e2',
    '0x10',
    ' 5',
    '-0',
    '',
    ' ',
    '\0',
    '\ud800',
    '\ud83d\ude00',
    'x'.repeat(256),
    ',',
    '1,,2',
  ],
  [
    'Available',
    'toString',
    '__proto__',
    '2030-02-30T12:00:00Z',
    '0000-01-01T00:00:00Z',
    '0000-01-01T00:00:00+14:00',
    'a@b',
  ],
  [cursorOf('after:007'), cursorOf('before:1'), `${cursorOf('after:17')}=`, 'YWZ0ZXI6', '%'],
  [
    0,
    -0,
    1,
    20,
    100,
    101,
    1.5,
    NaN,
    Infinity,
    2 ** 53,
    5n,
    2n ** 63n,
    -(2n ** 63n),
    null,
    true,
    false,
    UNREADABLE,
  ],
].flat();
/** Any value of a property: the pipe lets no object in. */
const value: Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(...VALID) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100 }).map(String) },
  fc.constantFrom<unknown>(...HOSTILE),
  digits,
  digits.map(BigInt),
  fc.array(digits, { minLength: 1, maxLength: 120 }).map((all) => all.join()),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.emailAddress(),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.double(),
);

/** The outcome of a request: the DTO, a refusal, or the error that reading it throws. */
function outcomeOf(read: () => object | undefined): unknown {
  try {
    const dto = read();
    return dto === undefined ? 'refused' : { is: dto.constructor, has: { ...dto } };
  } catch (error) {
    return { throws: (error as { code?: string }).code };
  }
}

function byTheLibraries(type: Type<object>, sent: Values): object | undefined {
  const dto: object = plainToInstance(type, sent, { exposeDefaultValues: true });
  return validateSync(dto).length > 0 ? undefined : dto;
}

describe('A compiled DTO', () => {
  test('exists for every class of the project', () => {
    expect(cases.length).toBeGreaterThan(15);
    expect(cases.filter(([, type]) => !compileDto(type, namesOf(type)))).toEqual([]);
  });

  test.each(cases)(
    '%s builds and accepts exactly what class-transformer and class-validator do',
    (_name, type) => {
      const names = namesOf(type);
      const compiled = compileDto(type, names)!;
      const accepted = { compiled: 0 };
      const each = Object.fromEntries(names.map((name) => [name, value]));
      fc.assert(
        fc.property(fc.record(each, { requiredKeys: [] }), (sent) => {
          const outcome = outcomeOf(() => compiled(sent));
          if (typeof outcome === 'object' && 'is' in outcome!) accepted.compiled++;
          expect(outcome).toStrictEqual(outcomeOf(() => byTheLibraries(type, sent)));
        }),
        { numRuns: 1_500, examples: [[exampleOf(type)]] },
      );
      // If everything were refused, nothing would have been compared.
      expect(accepted.compiled).toBeGreaterThan(0);
    },
  );
});

interface Schema {
  example?: unknown;
  type?: string;
  format?: string;
  enum?: string[];
}

/** The schema of a property in the OpenAPI document. */
function schemaOf(type: Type<object>, name: string): Schema {
  return Reflect.getMetadata('swagger/apiModelProperties', type.prototype, name) as Schema;
}

function exampleOf(type: Type<object>): Values {
  const names = namesOf(type).filter((name) => schemaOf(type, name).example !== undefined);
  return Object.fromEntries(names.map((name) => [name, schemaOf(type, name).example]));
}

/** Any value that an entity can hold in a property. */
function stored({ type, format, enum: values }: Schema): Arbitrary<unknown> {
  if (values) return fc.constantFrom(...values);
  if (type === 'integer' && format !== 'int64') return fc.maxSafeInteger();
  if (format === 'int64') return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
  if (format === 'date-time') {
    return fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date(253402300799999),
      noInvalidDate: true,
    });
  }
  return format === 'uuid' ? fc.uuid() : fc.string({ unit: 'binary' });
}

/** JSON as `JSON.stringify` writes it: only the properties of the DTO, digits as they are. */
function jsonOf(type: Type<object>, item: Values): string {
  const picture = writersOf(type).map(({ name }) => {
    const held = item[name] ?? undefined;
    const isDigits = schemaOf(type, name).format === 'int64' && held !== undefined;
    return [name, isDigits ? JSON.rawJSON(held as string) : held];
  });
  return JSON.stringify(Object.fromEntries(picture));
}

/** Parameters and queries are only read. */
const written = cases.filter(([name]) => name.endsWith('Dto'));

test.each(written)(
  '%s is written as JSON.stringify writes it, with every digit and nothing else',
  (_name, type) => {
    const names = writersOf(type).map(({ name }) => name);
    const each = names.map((name) => [name, fc.option(stored(schemaOf(type, name)))]);
    const item = fc
      .record(Object.fromEntries(each) as Record<string, Arbitrary<unknown>>, { requiredKeys: [] })
      .map((values): Values => ({ passwordHash: 'secret', ...values, hash: Buffer.from('secret') }));
    const [one, list] = [serializer(type), listSerializer(type)];
    fc.assert(
      fc.property(fc.array(item, { maxLength: 5 }), (items) => {
        const texts = items.map((held) => jsonOf(type, held));
        expect(items.map((held) => one(held).text)).toEqual(texts);
        expect(list(items).text).toBe(`[${texts.join(',')}]`);
        expect(list(items)).toBe(list(items));
      }),
      { numRuns: 300 },
    );
  },
);
