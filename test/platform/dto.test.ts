import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { PartialType, PickType } from '@nestjs/swagger';
import { Transform, Type as TypeOf } from 'class-transformer';
import { IsIn, IsNotEmpty, IsOptional, IsString, Min, ValidateNested } from 'class-validator';
import type { ApiError } from '../../src/platform/api/api-error.js';
import { ChangeType, serializer } from '../../src/platform/api/dto.js';
import { Int64Field, IntegerParam, TextField, TimestampField } from '../../src/platform/api/fields.js';
import { parseJson } from '../../src/platform/api/formats.js';
import { ListField } from '../../src/platform/api/nested-fields.js';
import { DtoPipe } from '../../src/platform/api/validation.js';

const pipe = new DtoPipe();

async function read(type: Type<object>, sent: object): Promise<object> {
  try {
    const dto = (await pipe.transform(sent, { type: 'body', metatype: type })) as object;
    return { is: dto.constructor, has: { ...dto } };
  } catch (error) {
    return { throws: (error as ApiError).code, because: (error as ApiError).message };
  }
}

describe('A DTO with decorators of the libraries', () => {
  class Trimmed {
    @Transform(({ value: text }) => (typeof text === 'string' ? text.trim() : (text as unknown)))
    @IsNotEmpty()
    @IsString()
    name!: string;

    @IsOptional() @IsIn(['a', 'b']) kind?: string;
    @TypeOf(() => Number) @Min(3) count = 3;
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

  test('gets no property that it does not declare, at any depth', async () => {
    class Owner {
      @IsString() name!: string;
    }
    class New {
      @IsString() name!: string;
      @ValidateNested() @TypeOf(() => Owner) owner!: Owner;
    }
    const sent = { name: 'Luna', id: 7, isAdmin: true, owner: { name: 'Ada', id: 7 } };
    expect(await read(New, sent)).toEqual({ is: New, has: { name: 'Luna', owner: { name: 'Ada' } } });
  });

  test.each(['{"name":{"constructor":1}}', `{"name":${'['.repeat(40_000)}${']'.repeat(40_000)}}`])(
    'refuses what they cannot read: %.20s',
    async (json) => {
      expect(await read(Trimmed, JSON.parse(json))).toMatchObject({ throws: 'validation_failed' });
    },
  );
});

test("A DTO of fields can be one of Nest's mapped types, and that of a change", async () => {
  const TEXT = { description: 'Text.', max: 5 };
  class New {
    @TextField(TEXT) name!: string;
    @Int64Field({ description: 'Identifier.' }) id!: string;
    @ListField({ description: 'Words.', of: TextField(TEXT), max: 2, optional: true }) words?: string[];
  }
  class Part extends PartialType(PickType(New, ['name', 'id'])) {}
  class Change extends ChangeType(New) {}
  expect(await read(Part, { id: 7, words: 1 })).toEqual({ is: Part, has: { id: '7' } });
  expect(serializer(Part)({ id: '7', count: 1 }).text).toBe('{"id":7}');
  expect(await read(Change, { words: null })).toEqual({ is: Change, has: { words: null } });
  expect(await read(Change, { name: null })).toMatchObject({ throws: 'validation_failed' });
});

describe('A field', () => {
  test('of a change may be null if the changed field may', async () => {
    class New {
      @TextField({ description: 'Text.', max: 5, nullable: true }) a!: string | null;
    }
    class Change extends ChangeType(New) {}
    expect(await read(Change, { a: null })).toEqual({ is: Change, has: { a: null } });
    expect(await read(Change, {})).toEqual({ is: Change, has: { a: undefined } });
  });

  test('takes a text of a mark of direction, which is no white space', async () => {
    class Named {
      @TextField({ description: 'One.', max: 9, blank: false }) name!: string;
    }
    expect(await read(Named, { name: '\u202a' })).toEqual({ is: Named, has: { name: '\u202a' } });
    for (const name of ['\u2028', '\ufeff', ' \u2029'])
      expect(await read(Named, { name })).toMatchObject({ throws: 'validation_failed' });
  });

  test('of a query with an integer may be required', async () => {
    class Asked {
      @IntegerParam({ description: 'How often.', min: 1, max: 9 }) times!: number;
    }
    expect(await read(Asked, {})).toEqual({ throws: 'validation_failed', because: 'times is required.' });
    expect(await read(Asked, { times: '3' })).toEqual({ is: Asked, has: { times: 3 } });
  });

  test('takes what RFC 3339 has as a time, in any case, with a leap second', async () => {
    class At {
      @TimestampField({ description: 'One.' }) at!: Date;
    }
    const times = {
      '2030-01-31t12:00:00.5z': '2030-01-31T12:00:00.500Z',
      '2016-12-31T23:59:60Z': '2017-01-01T00:00:00.000Z',
      '2017-01-01T00:59:60.25+01:00': '2017-01-01T00:00:00.250Z',
    };
    for (const [at, time] of Object.entries(times))
      expect(await read(At, { at })).toEqual({ is: At, has: { at: new Date(time) } });
    for (const at of ['2017-01-01T12:00:60Z', '2016-12-31T23:59:61Z', '2016-12-31T23:59:60+01:00'])
      expect(await read(At, { at })).toMatchObject({ throws: 'validation_failed' });
  });

  test('with a list of unique items compares their values, not their spelling', async () => {
    class Times {
      @ListField({ description: 'Times.', of: TimestampField({ description: 'One.' }), max: 3, unique: true })
      times!: Date[];
    }
    const twice = ['2030-01-31T12:00:00Z', '2030-01-31T13:00:00.000+01:00'];
    const because = 'times must not have an item twice.';
    expect(await read(Times, { times: twice })).toEqual({ throws: 'validation_failed', because });
    const different = { times: ['2030-01-31T12:00:00Z', '2030-01-31T12:00:01Z'] };
    expect(await read(Times, different)).toMatchObject({ is: Times });
  });
});

test('A number of JSON with more digits than any field takes stays a number', () => {
  const long = '9'.repeat(101);
  expect(parseJson(`[${long},-${long},${'9'.repeat(400)}]`)).toEqual([Number(long), -Number(long), Infinity]);
  expect(parseJson('[9223372036854775807]')).toEqual([9223372036854775807n]);
});
