import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import type { Type } from '@nestjs/common';
import { PartialType, PickType } from '@nestjs/swagger';
import { plainToInstance, Transform, Type as TypeOf } from 'class-transformer';
import { IsIn, IsNotEmpty, IsOptional, IsString, Min, validateSync } from 'class-validator';
import fc, { type Arbitrary } from 'fast-check';
import '../support/features.js';
import { ApiError } from '../../src/platform/api/api-error.js';
import { ChangeType, fieldsIn, serializer, UNREADABLE } from '../../src/platform/api/dto.js';
import {
  EnumField,
  Int64Field,
  IntegerParam,
  TextField,
  TimestampField,
} from '../../src/platform/api/fields.js';
import { parseJson } from '../../src/platform/api/formats.js';
import { ListField, ListParam, MapField } from '../../src/platform/api/nested-fields.js';
import { listSerializer, Page, PageQuery } from '../../src/platform/api/paging.js';
import { isMixed, ValidationPipe } from '../../src/platform/api/validation.js';
import { CHARACTER } from '../support/character.js';
import { ROOT } from '../support/npm.js';
import { isThorough } from '../support/thorough.js';

type Values = Record<string, unknown>;

const TIMES = isThorough ? 20 : 1;
const pipe = new ValidationPipe();

const dtos = await everyDto();
const cases = dtos.map((type): [string, Type<object>] => [type.name, type]);

/** Every class of the files `*.dto.ts`, and the query parameters of lists. */
async function everyDto(): Promise<Type<object>[]> {
  const files = readdirSync(`${ROOT}/src`, { recursive: true, encoding: 'utf8' });
  const paths = files.filter((path) => path.endsWith('.dto.ts'));
  const modules = await Promise.all(paths.map((path) => import(`../../src/${path.replace(/\.ts$/, '.js')}`)));
  const classes = modules.flatMap((module) => Object.values(module as Record<string, Type<object>>));
  return [...classes.filter((type) => namesOf(type).length > 0), PageQuery];
}

/** The properties that are fields. */
function namesOf(type: Type<object>): string[] {
  return typeof type === 'function' && 'prototype' in type ? fieldsIn(type).map(([name]) => name) : [];
}

const cursorOf = (text: string) => Buffer.from(text).toString('base64url');
const digits = fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String);
const VALID = [
  ...['available', 'asc', 'placed', 'queued', 'grace@example.com', 'correct horse battery', '1,2,3'],
  ...['019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70', '2030-01-31T12:00:00Z', cursorOf('after:17')],
];
const HOSTILE = [
  ...['007', '+5', '1e2', '0x10', ' 5', '-0', '', ' ', '\0', '\ud800', '\ud83d\ude00', 'x'.repeat(256)],
  ...[',', '1,,2', 'Available', 'toString', '__proto__', '2030-02-30T12:00:00Z', '0000-01-01T00:00:00+14:00'],
  ...['a@b', cursorOf('after:007'), `${cursorOf('after:17')}=`, '%'],
  ...[0, -0, 1, 20, 100, 101, 1.5, NaN, Infinity, 2 ** 53, 5n, 2n ** 63n, -(2n ** 63n)],
  ...[null, true, false, UNREADABLE],
];
/** Any value of a property; objects only of one that has them in its example. */
const value: Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(...VALID) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100 }).map(String) },
  fc.constantFrom<unknown>(...HOSTILE),
  digits,
  digits.map(BigInt),
  fc.array(digits, { minLength: 1, maxLength: 120 }).map((all) => all.join()),
  fc.string({ unit: CHARACTER, maxLength: 300 }),
  fc.emailAddress(),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.double(),
);

/** An example, and for a nested one lists and objects of what is in it and of anything else. */
function like(example: unknown): Arbitrary<unknown> {
  if (Array.isArray(example))
    return fc.oneof(fc.constant(example), fc.array(fc.oneof(value, like(example[0])), { maxLength: 30 }));
  if (typeof example !== 'object' || example === null) return fc.constant(example);
  const parts = Object.entries(example).map(([name, one]) => [name, fc.oneof(value, like(one))] as const);
  return fc.oneof(fc.constant(example), fc.record(Object.fromEntries(parts), { requiredKeys: [] }));
}

interface Refused {
  because?: string;
}

/** The outcome of a request: the DTO, or the error that reading it throws. */
async function outcomeOf(read: () => unknown): Promise<object> {
  try {
    const dto = (await read()) as object;
    return { is: dto.constructor, has: { ...dto } };
  } catch (error) {
    return { throws: (error as ApiError).code, because: (error as ApiError).message };
  }
}

/** Reads each field, and leaves the rest to the libraries. */
function byTheLibraries(type: Type<object>, sent: Values): object {
  const fields = new Map(fieldsIn(type));
  const read = Object.entries(sent).map(([name, value]) => [name, fields.get(name)!.read(value)] as const);
  const dto = plainToInstance(type, Object.fromEntries(read), { exposeDefaultValues: true });
  // They would copy what is within: an exact integer of any JSON is then none.
  const nested = read.filter(([name]) => fields.get(name)!.isNested);
  Object.assign(dto, Object.fromEntries(nested));
  const rank = new Map(namesOf(type).map((name, i) => [name, i]));
  const errors = validateSync(dto).toSorted((a, b) => rank.get(a.property)! - rank.get(b.property)!);
  const reasons = errors.flatMap(({ constraints }) => Object.values(constraints!));
  if (reasons.length > 0) throw new ApiError('validation_failed', `${reasons.join('; ')}.`);
  return dto;
}

describe('A DTO of fields', () => {
  test('is every class of the project', () => {
    expect(cases.length).toBeGreaterThan(15);
    expect(cases.filter(([, type]) => isMixed(type))).toEqual([]);
  });

  test.each(cases)('%s is accepted or refused exactly as by class-validator', async (_name, type) => {
    const names = namesOf(type);
    const reader = (sent: object) => pipe.transform(sent, { type: 'body', metatype: type });
    let accepted = 0;
    const examples = exampleOf(type);
    const each = Object.fromEntries(
      names.map((name) => [name, name in examples ? fc.oneof(value, like(examples[name])) : value]),
    );
    await fc.assert(
      fc.asyncProperty(fc.record(each, { requiredKeys: [] }), async (sent) => {
        const outcome = await outcomeOf(() => reader(sent));
        if (Object.hasOwn(outcome, 'is')) accepted++;
        // That a change has to change something is no rule of a field.
        if ((outcome as Refused).because?.startsWith('At least one of')) return;
        expect(outcome).toStrictEqual(await outcomeOf(() => byTheLibraries(type, sent)));
      }),
      { numRuns: 75 * TIMES, examples: [[examples], [{}]] },
    );
    // If everything were refused, nothing would have been compared.
    expect(accepted).toBeGreaterThan(0);
  });
});

describe('A DTO with decorators of the libraries', () => {
  const TEXT = { description: 'Text.', max: 5 };
  const read = (type: Type<object>, sent: object) =>
    outcomeOf(() => pipe.transform(sent, { type: 'body', metatype: type }));

  class Trimmed {
    @Transform(({ value: text }) => (typeof text === 'string' ? text.trim() : (text as unknown)))
    @IsNotEmpty()
    @IsString()
    name!: string;

    @IsOptional()
    @IsIn(['a', 'b'])
    kind?: string;

    @TypeOf(() => Number)
    @Min(3)
    count = 3;
  }

  test('does what they document', async () => {
    const sent = { name: ' Ada ', kind: null, count: '7' };
    expect(await read(Trimmed, sent)).toEqual({ is: Trimmed, has: { name: 'Ada', kind: null, count: 7 } });
    expect(await read(Trimmed, { name: ' ', kind: 'c', count: 2 })).toEqual({
      throws: 'validation_failed',
      because:
        'name should not be empty; kind must be one of the following values: a, b; count must not be less than 3.',
    });
  });

  test.each(['{"name":{"constructor":1}}', `{"name":${'['.repeat(40_000)}${']'.repeat(40_000)}}`])(
    'refuses what they cannot read: %.20s',
    async (json) => {
      expect(await read(Trimmed, JSON.parse(json))).toMatchObject({ throws: 'validation_failed' });
    },
  );

  test('has no fields beside them, but for what makes all of them optional', () => {
    class Transformed {
      @Transform(({ value: text }) => text as unknown)
      @TextField(TEXT)
      name!: string;
    }
    class Ruled {
      @IsNotEmpty()
      @TextField(TEXT)
      name!: string;
    }
    class Beside {
      @TextField(TEXT)
      name!: string;

      @IsOptional()
      @IsIn(['a', 'b'])
      kind?: string;
    }
    class Plain {
      @TextField(TEXT)
      name!: string;
    }
    expect([Transformed, Ruled, Beside, Trimmed, Plain, PartialType(Plain)].map(isMixed)).toEqual([
      ...[true, true, true],
      ...[false, false, false],
    ]);
  });
});

test("A DTO of fields can be one of Nest's mapped types, and that of a change", async () => {
  const TEXT = { description: 'Text.', max: 5 };
  const read = (type: Type<object>, sent: object) =>
    outcomeOf(() => pipe.transform(sent, { type: 'body', metatype: type }));
  class New {
    @TextField(TEXT)
    name!: string;

    @Int64Field({ description: 'Identifier.' })
    id!: string;

    @ListField({ description: 'Words.', of: TextField(TEXT), max: 2, optional: true })
    words?: string[];
  }
  class Part extends PartialType(PickType(New, ['name', 'id'])) {}
  class Change extends ChangeType(New) {}
  expect(await read(Part, { id: 7, words: 1 })).toEqual({ is: Part, has: { id: '7' } });
  expect(serializer(Part)({ id: '7', count: 1 }).text).toBe('{"id":7}');
  expect(await read(Change, { words: null })).toEqual({ is: Change, has: { words: null } });
  expect(await read(Change, { name: null })).toMatchObject({ throws: 'validation_failed' });
});

describe('A field', () => {
  const read = (type: Type<object>, sent: object) =>
    outcomeOf(() => pipe.transform(sent, { type: 'body', metatype: type }));

  test('of a change may be null if the changed field may', async () => {
    class New {
      @TextField({ description: 'Text.', max: 5, nullable: true })
      a!: string | null;
    }
    class Change extends ChangeType(New) {}
    expect(await read(Change, { a: null })).toEqual({ is: Change, has: { a: null } });
    expect(await read(Change, {})).toEqual({ is: Change, has: { a: undefined } });
  });

  test('of a query with an integer may be required', async () => {
    class Asked {
      @IntegerParam({ description: 'How often.', min: 1, max: 9, optional: false })
      times!: number;
    }
    expect(await read(Asked, {})).toEqual({ throws: 'validation_failed', because: 'times is required.' });
    expect(await read(Asked, { times: '3' })).toEqual({ is: Asked, has: { times: 3 } });
  });

  test('with a list of unique items compares their values, not their spelling', async () => {
    class Times {
      @ListField({ description: 'Times.', of: TimestampField({ description: 'One.' }), max: 3, unique: true })
      times!: Date[];
    }
    const twice = ['2030-01-31T12:00:00Z', '2030-01-31T13:00:00.000+01:00'];
    expect(await read(Times, { times: twice })).toEqual({
      throws: 'validation_failed',
      because: 'times must not have an item twice.',
    });
    expect(await read(Times, { times: ['2030-01-31T12:00:00Z', '2030-01-31T12:00:01Z'] })).toMatchObject({
      is: Times,
    });
  });
});

test('An enumeration may get its values after the classes that have it', async () => {
  let meanings: Record<string, string> = {};
  const of = EnumField({ description: 'One.', name: 'Later', values: () => meanings });
  const options = { description: 'Some.', of, max: () => Object.keys(meanings).length };
  class Later {
    @ListField(options)
    list!: string[];
  }
  const [param, map] = [ListParam({ ...options, max: 2 }), MapField({ ...options, max: 2 })];
  meanings = { a: 'A thing.', b: 'Another.' };
  const read = (sent: object) => outcomeOf(() => pipe.transform(sent, { type: 'body', metatype: Later }));
  expect(await read({ list: ['a', 'b'] })).toEqual({ is: Later, has: { list: ['a', 'b'] } });
  expect(await read({ list: ['c'] })).toMatchObject({ because: 'list[0] must be one of a, b.' });
  const $ref = '#/components/schemas/Later';
  expect(fieldsIn(Later)[0]![1].schema).toMatchObject({ items: { $ref }, maxItems: 2 });
  expect(param.field.schema).toMatchObject({ items: { $ref } });
  expect(map.field.schema).toMatchObject({ additionalProperties: { $ref } });
  for (const { kind } of [fieldsIn(Later)[0]![1], param.field, map.field])
    expect(kind.enumeration!.meanings()).toEqual(meanings);
});

test('A number of JSON with more digits than any field takes stays a number', () => {
  const long = '9'.repeat(101);
  expect(parseJson(`[${long},-${long},${'9'.repeat(400)}]`)).toEqual([Number(long), -Number(long), Infinity]);
  expect(parseJson('[9223372036854775807]')).toEqual([9223372036854775807n]);
});

interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  type?: string | string[];
  format?: string;
  items?: Schema;
  additionalProperties?: Schema;
}

/** The values of the enumerations in the fields, by their reference. */
const enumerations = new Map<string, string[]>(
  dtos.flatMap((type) =>
    fieldsIn(type).flatMap(([, { kind }]) => {
      const { name, meanings } = kind.enumeration ?? {};
      return name ? [[`#/components/schemas/${name}`, Object.keys(meanings!())] as const] : [];
    }),
  ),
);

function exampleOf(type: Type<object>): Values {
  const all = fieldsIn(type).map(([name, { options }]) => [name, options.example] as const);
  return Object.fromEntries(all.filter(([, example]) => example !== undefined));
}

/** Any value that an entity can hold in a property. */
function stored({
  $ref,
  anyOf,
  type,
  format,
  items,
  additionalProperties: values,
}: Schema): Arbitrary<unknown> {
  if (anyOf) return stored(anyOf[0]!);
  if ($ref) return fc.constantFrom(...enumerations.get($ref)!);
  if (items) return fc.array(stored(items), { maxLength: 3 });
  if (values) return fc.dictionary(fc.string(), stored(values), { noNullPrototype: true });
  return storedOne([type].flat()[0], format);
}

function storedIn(type: Type<object>): Arbitrary<Values> {
  const each = fieldsIn(type).map(([name, { schema }]) => [name, fc.option(stored(schema as Schema))]);
  return fc.record(Object.fromEntries(each) as Record<string, Arbitrary<unknown>>, { requiredKeys: [] });
}

function storedOne(type?: string, format?: string): Arbitrary<unknown> {
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer' && format !== 'int64') return fc.maxSafeInteger();
  if (format === 'int64') return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
  if (format === 'decimal') return fc.bigInt({ min: 0n, max: 10n ** 20n }).map((whole) => `${whole}.50`);
  if (format === 'date-time') {
    return fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date(253402300799999),
      noInvalidDate: true,
    });
  }
  return format === 'uuid' ? fc.uuid() : fc.string({ unit: CHARACTER });
}

/** What `JSON.stringify` writes as an answer: only the properties of the DTO, digits as they are. */
function pictureOf(type: Type<object>, item: Values): object {
  return Object.fromEntries(
    fieldsIn(type).map(([name, { schema }]) => [name, picture(schema as Schema, item[name])]),
  );
}

function picture({ type, format, items }: Schema, held: unknown): unknown {
  if (held === undefined || held === null) return undefined;
  if (Array.isArray(held)) return held.map((one) => picture(items!, one));
  const isDigits = format === 'int64' || (format === 'decimal' && [type].flat()[0] === 'number');
  return isDigits ? JSON.rawJSON(held as string) : held;
}

/** Parameters and queries are only read. */
const written = cases.filter(([name]) => name.endsWith('Dto'));

test.each(written)(
  '%s is written as JSON.stringify writes it, with every digit and nothing else',
  (_name, type) => {
    const item = storedIn(type).map((values): Values => ({
      passwordHash: 'secret',
      ...values,
      hash: Buffer.from('secret'),
    }));
    const [one, list] = [serializer(type), listSerializer(type)];
    fc.assert(
      fc.property(fc.array(item, { maxLength: 5 }), (items) => {
        const texts = items.map((held) => JSON.stringify(pictureOf(type, held)));
        expect(items.map((held) => one(held).text)).toEqual(texts);
        expect(list(items).text).toBe(`[${texts.join(',')}]`);
        const rows = items as { id: string }[];
        const page = () => new Page({ rows }, { mark: 'these' }, (row) => ({ ...(row as { id: string }) }));
        expect(list(page())).toEqual(list(items));
        // Shared, unless its items were taken.
        expect(list(page())).toBe(list(page()));
        const taken = page();
        for (const own of taken.items) own.id = 'changed';
        expect(list(taken)).not.toBe(list(page()));
        expect(list(page())).toEqual(list(items));
      }),
      { numRuns: 15 * TIMES },
    );
  },
);
