import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import type { Type } from '@nestjs/common';
import { PartialType, PickType } from '@nestjs/swagger';
import { Exclude, plainToInstance, Transform, Type as TypeOf } from 'class-transformer';
import { getMetadataStorage, IsIn, IsNotEmpty, IsOptional, Min, validateSync } from 'class-validator';
import fc, { type Arbitrary } from 'fast-check';
import '../../src/features.js';
import { ApiError } from '../../src/platform/api/api-error.js';
import { ChangeType, dtoReader, listSerializer, serializer } from '../../src/platform/api/dto.js';
import { Int64Field, TextField } from '../../src/platform/api/fields.js';
import { ListField, MapField } from '../../src/platform/api/nested-fields.js';
import { fieldsIn, hasOnlyFields, UNREADABLE } from '../../src/platform/api/field.js';
import { Page, PageQuery } from '../../src/platform/api/paging.js';
import { CHARACTER } from '../support/character.js';
import { ROOT } from '../support/npm.js';
import { isThorough } from '../support/thorough.js';

type Values = Record<string, unknown>;

const TIMES = isThorough ? 20 : 1;

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

/** The properties that have rules. */
function namesOf(type: Type<object>): string[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  return [...new Set(rules.map(({ propertyName }) => propertyName))];
}

const cursorOf = (text: string) => Buffer.from(text).toString('base64url');
const digits = fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String);
const VALID = [
  'available',
  'asc',
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

/** The outcome of a request: the DTO, or the error that reading it throws. */
function outcomeOf(read: () => object): unknown {
  try {
    const dto = read();
    return { is: dto.constructor, has: { ...dto } };
  } catch (error) {
    return { throws: (error as ApiError).code, because: (error as ApiError).message };
  }
}

/** Reads each field, and leaves the rest to the libraries. */
function byTheLibraries(type: Type<object>, sent: Values): object {
  const fields = new Map(fieldsIn(type).map(({ name, declared }) => [name, declared]));
  const read = Object.entries(sent).map(([name, value]) => [name, fields.get(name)!.read(value)] as const);
  const dto = plainToInstance(type, Object.fromEntries(read), { exposeDefaultValues: true });
  // They would copy what is within: an exact integer of any JSON is then none.
  const nested = read.filter(([name]) => fields.get(name)!.isNested);
  Object.assign(dto, Object.fromEntries(nested));
  const reasons = validateSync(dto).flatMap(({ constraints }) => Object.values(constraints!));
  if (reasons.length > 0) throw new ApiError('validation_failed', `${reasons.join('; ')}.`);
  return dto;
}

describe('A DTO of fields', () => {
  test('is every class of the project', () => {
    expect(cases.length).toBeGreaterThan(15);
    expect(cases.filter(([, type]) => !hasOnlyFields(type))).toEqual([]);
  });

  test.each(cases)('%s is accepted or refused exactly as by class-validator', (_name, type) => {
    const names = namesOf(type);
    const reader = dtoReader(type)!;
    let accepted = 0;
    const examples = exampleOf(type);
    const each = Object.fromEntries(
      names.map((name) => [name, name in examples ? fc.oneof(value, like(examples[name])) : value]),
    );
    fc.assert(
      fc.property(fc.record(each, { requiredKeys: [] }), (sent) => {
        const outcome = outcomeOf(() => reader(sent));
        if (Object.hasOwn(outcome as object, 'is')) accepted++;
        expect(outcome).toStrictEqual(outcomeOf(() => byTheLibraries(type, sent)));
      }),
      { numRuns: 75 * TIMES, examples: [[examples], [{}]] },
    );
    // If everything were refused, nothing would have been compared.
    expect(accepted).toBeGreaterThan(0);
  });
});

describe('A DTO with decorators of the libraries', () => {
  const TEXT = { description: 'Text.', max: 5 };

  class Trimmed {
    @Transform(({ value: text }) => (typeof text === 'string' ? text.trim() : (text as unknown)))
    @TextField(TEXT)
    name!: string;

    @Int64Field({ description: 'Identifier.' })
    id!: string;

    @IsOptional()
    @IsIn(['a', 'b'])
    kind?: string;

    @IsNotEmpty()
    @TypeOf(() => Number)
    @Min(3)
    count = 3;
  }

  class Short extends Trimmed {
    @TextField({ ...TEXT, max: 2 })
    declare name: string;
  }

  class Hidden {
    @Exclude()
    @TextField({ ...TEXT, optional: true })
    name?: string;
  }

  class Tag {
    @Transform(({ value: text }) => `${String(text)}!`)
    @TextField(TEXT)
    word!: string;

    @IsIn(['a', 'b'])
    kind!: string;
  }

  class Tagged {
    @IsIn(['a', 'b'])
    kind!: string;

    @ListField({ description: 'Tags.', of: Tag, max: 2 })
    tags!: Tag[];

    @MapField({ description: 'Names.', of: TextField(TEXT), max: 2 })
    names!: Record<string, string>;
  }

  class Part extends PartialType(PickType(Trimmed, ['name', 'id'])) {}

  const read = (type: Type<object>, sent: object) => outcomeOf(() => dtoReader(type)!(sent));
  const refused = (because: string) => ({ throws: 'validation_failed', because });

  test('does what they document', () => {
    const sent = { name: ' Ada ', id: 2n ** 60n, kind: null, count: '7', unknown: 1 };
    const has = { name: 'Ada', id: '1152921504606846976', kind: null, count: 7 };
    expect(read(Trimmed, sent)).toEqual({ is: Trimmed, has });
    expect(read(Trimmed, { name: ' ', id: '5', kind: 'c', count: 2 })).toEqual(
      refused(
        'name must be text of 1 to 5 characters, without NUL or lone surrogates; id must be a 64-bit integer; ' +
          'kind must be one of the following values: a, b; count must not be less than 3.',
      ),
    );
    expect(read(Hidden, { name: 'Ada' })).toEqual({ is: Hidden, has: { name: undefined } });
  });

  test('inherits and replaces fields', () => {
    expect(read(Short, { name: ' Al ', id: 1 })).toMatchObject({ is: Short, has: { name: 'Al', id: '1' } });
    expect(read(Short, { name: 'Ada', id: 1 })).toMatchObject({ throws: 'validation_failed' });
    expect(fieldsIn(Short).map(({ name }) => name)).toEqual(['id', 'name']);
  });

  test('has nested fields beside them, whose values class-transformer does not touch', () => {
    const names = { constructed: 'x' };
    const tags = [{ word: 'x', kind: 'a', other: {} }];
    const is = dtoReader(Tagged)!({ kind: 'a', tags, names }) as Tagged;
    expect(is).toEqual({ kind: 'a', tags: [{ word: 'x!', kind: 'a' }], names });
    expect([is, is.tags[0]].map((one) => one!.constructor)).toEqual([Tagged, Tag]);
    expect(read(Tagged, { kind: 'a' })).toEqual(refused('tags is required; names is required.'));
    expect(read(Tagged, { kind: 'a', tags: [...tags, { word: '12345', kind: 'c' }], names: [] })).toEqual(
      refused(
        'tags[1].word must be text of 1 to 5 characters, without NUL or lone surrogates; ' +
          'tags[1].kind must be one of the following values: a, b; names must be an object of at most 2 properties.',
      ),
    );
    expect(read(Tagged, { kind: {}, tags: [[]], names: null })).toMatchObject({
      throws: 'validation_failed',
    });
  });

  test('can be that of a change, if it has only fields', () => {
    class New {
      @TextField(TEXT)
      name!: string;

      @ListField({ description: 'Words.', of: TextField(TEXT), max: 2, optional: true })
      words?: string[];
    }
    class Change extends ChangeType(New) {}
    expect(read(Change, {})).toEqual({ is: Change, has: {} });
    expect(read(Change, { name: 'x', words: null })).toEqual({ is: Change, has: { name: 'x', words: null } });
    expect(read(Change, { name: null })).toMatchObject({ throws: 'validation_failed' });
    expect(() => ChangeType(Tagged)).toThrow(TypeError);
  });

  test("can be one of Nest's mapped types", () => {
    expect(read(Part, { id: 7 })).toEqual({ is: Part, has: { id: '7' } });
    expect(read(Part, { id: 'x' })).toEqual(refused('id must be a 64-bit integer.'));
    expect(serializer(Part)({ id: '7', count: 1 }).text).toBe('{"id":7}');
  });
});

interface Schema {
  example?: unknown;
  type?: string | (() => Type<object>);
  isArray?: boolean;
  format?: string;
  enum?: string[];
  items?: Schema;
  additionalProperties?: Schema;
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
function stored(schema: Schema): Arbitrary<unknown> {
  const { type, isArray, items, additionalProperties: values } = schema;
  if (isArray) return fc.array(stored({ ...schema, isArray: false }), { maxLength: 3 });
  if (typeof type === 'function') return storedIn(type());
  if (items) return fc.array(stored(items), { maxLength: 3 });
  return values ? fc.dictionary(fc.string(), stored(values), { noNullPrototype: true }) : storedOne(schema);
}

function storedIn(type: Type<object>): Arbitrary<Values> {
  const each = fieldsIn(type).map(({ name }) => [name, fc.option(stored(schemaOf(type, name)))]);
  return fc.record(Object.fromEntries(each) as Record<string, Arbitrary<unknown>>, { requiredKeys: [] });
}

function storedOne({ type, format, enum: values }: Schema): Arbitrary<unknown> {
  if (values) return fc.constantFrom(...values);
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
    fieldsIn(type).map(({ name }) => [name, picture(schemaOf(type, name), item[name])]),
  );
}

function picture(schema: Schema, held: unknown): unknown {
  const { type, format, items } = schema;
  if (held === undefined || held === null) return undefined;
  if (Array.isArray(held)) return held.map((one) => picture(items ?? { ...schema, isArray: false }, one));
  if (typeof type === 'function') return pictureOf(type(), held as Values);
  const isDigits = format === 'int64' || (format === 'decimal' && type === 'number');
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
