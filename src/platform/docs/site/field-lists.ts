import type { OpenAPIObject } from '@nestjs/swagger';
import { NOT_BLANK, PLAIN } from '../../api/index.js';
import { partAt, type Schema } from '../openapi/schemas.js';
import { escape } from './markdown.js';

/** A parameter, a header or a property. */
export interface ListedField {
  readonly name: string;
  readonly schema: Schema;
  readonly description?: string;
  readonly isRequired?: boolean;
  readonly example?: unknown;
  /** `path`, `query` or `header`, where a parameter is sent. */
  readonly sentIn?: string;
}

/** Patterns, each in words, so that no description needs to explain them. */
const FORMS: Record<string, string> = {
  [PLAIN]: '',
  [NOT_BLANK]: 'not only white space',
  '^[\\x21-\\x7e]+$': 'visible ASCII characters, no spaces',
};

/** Renders fields as HTML: type, meaning, limits in words, values with their meanings, and nested fields. */
export class FieldLists {
  /** @param textOf renders Markdown as HTML */
  constructor(
    private readonly document: OpenAPIObject,
    private readonly textOf: (markdown: string) => string,
  ) {}

  list(fields: readonly ListedField[], within: readonly string[] = []): string {
    if (fields.length === 0) return '';
    return `<ul class="fields">${fields.map((field) => this.item(field, within)).join('\n')}</ul>\n`;
  }

  /** The fields of an object, or of each item of a list. */
  fieldsOf(source: Schema, within: readonly string[] = []): string {
    const schema = this.resolved(source);
    const here = source.$ref ? [...within, source.$ref] : within;
    // A recursive schema would never end.
    if (source.$ref && within.includes(source.$ref)) return '';
    if (schema.items) return this.fieldsOf(schema.items, here);
    const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
      name,
      schema: property,
      isRequired: schema.required?.includes(name) ?? false,
    }));
    const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
    return this.list(fields, here) + variants.map((part) => this.fieldsOf(part, here)).join('');
  }

  /** The type of a schema in words, such as `list of integers (int64)` or `text`. */
  typeOf(source: Schema): string {
    const schema = this.resolved(source);
    const { type, format, items, anyOf, oneOf } = schema;
    if (items) return `list of ${this.typeOf(items)}`;
    const variants = anyOf ?? oneOf;
    if (variants) return [...new Set(variants.map((variant) => this.typeOf(variant)))].join(' or ');
    const name = source.$ref && schema.properties ? source.$ref.split('/').at(-1)! : undefined;
    if (name) return name;
    const types = [type ?? 'any'].flat().join(' or ');
    return format ? `${types} (${format})` : types;
  }

  /** The target of a reference, with the properties beside the reference. */
  resolved(schema: Schema): Schema {
    const { $ref, ...own } = schema;
    if (!$ref) return schema;
    const found = partAt(this.document, $ref) as Schema | undefined;
    return { ...this.resolved(found ?? {}), ...own };
  }

  private item(field: ListedField, within: readonly string[]): string {
    const { name, sentIn, isRequired } = field;
    const schema = this.resolved(field.schema);
    const description = field.description ?? schema.description;
    const of = schema.items ? this.resolved(schema.items) : schema;
    const marks = [
      `<code class="name">${escape(name)}</code>`,
      `<span class="type">${escape(this.typeOf(field.schema))}</span>`,
      ...(sentIn ? [`<span class="type">in ${sentIn}</span>`] : []),
      ...(isRequired ? ['<b class="required">required</b>'] : []),
    ];
    const limits = this.limitsOf(schema, field.example);
    return `<li><p>${marks.join(' ')}</p>
${description ? this.textOf(description) : ''}${limits ? `<p class="limits">${limits}</p>\n` : ''}${this.valuesOf(of)}${this.fieldsOf(field.schema, within)}</li>`;
  }

  private valuesOf({ enum: values, 'x-enumDescriptions': meanings = {} }: Schema): string {
    if (!values) return '';
    const items = values.map((value) => {
      const meaning = meanings[String(value)];
      return `<li>${code(value)}${meaning ? ` ${this.textOf(meaning).replaceAll(/<\/?p>\n?/g, '')}` : ''}</li>`;
    });
    return `<ul class="values">${items.join('')}</ul>\n`;
  }

  private limitsOf(schema: Schema, example = schema.example): string {
    const limits = limitsIn(schema);
    const { items } = schema;
    const itemSchema = items && this.resolved(items);
    if (itemSchema) {
      const each = [itemSchema.description?.replace(/\.$/, ''), ...limitsIn(itemSchema)].filter(Boolean);
      if (each.length > 0) limits.push(`each: ${each.join(', ')}`);
    }
    const sentences = limits.length > 0 ? [`${escape(capital(limits.join('; ')))}.`] : [];
    if (schema.default !== undefined) sentences.push(`Default ${code(schema.default)}.`);
    if (example !== undefined) sentences.push(`Example ${code(example)}.`);
    return sentences.join(' ');
  }
}

function limitsIn(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, minProperties, pattern } = schema;
  const form = pattern === undefined ? undefined : (FORMS[pattern] ?? '');
  const bytes = schema['x-max-bytes'];
  return [
    between(minimum ?? schema['x-minimum'], maximum ?? schema['x-maximum'], ''),
    between(minLength, maxLength, 'characters'),
    between(minItems, maxItems, 'items'),
    between(minProperties, undefined, minProperties === 1 ? 'field' : 'fields'),
    schema['x-decimals'] === undefined ? '' : `at most ${schema['x-decimals']} decimals`,
    bytes === undefined ? '' : `at most ${bytes.toLocaleString('en')} bytes`,
    form,
    schema.uniqueItems ? 'no two alike' : '',
    schema['x-future'] ? 'in the future' : '',
    'const' in schema ? `always ${JSON.stringify(schema.const)}` : '',
  ].filter((limit): limit is string => Boolean(limit));
}

function between(from: number | string | undefined, to: number | string | undefined, of: string): string {
  const written = (limit: number | string) =>
    typeof limit === 'number' ? limit.toLocaleString('en') : limit;
  const unit = of && ` ${of}`;
  if (from !== undefined && to !== undefined) return `${written(from)} to ${written(to)}${unit}`;
  if (from !== undefined) return `at least ${written(from)}${unit}`;
  return to === undefined ? '' : `at most ${written(to)}${unit}`;
}

function capital(text: string): string {
  return text && text[0]!.toUpperCase() + text.slice(1);
}

function code(value: unknown): string {
  return `<code>${escape(typeof value === 'string' ? value : JSON.stringify(value))}</code>`;
}
