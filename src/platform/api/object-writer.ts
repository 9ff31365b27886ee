import type { Field } from './field.js';

/** Writes objects as JSON by fields: each in the way of its kind, and nothing else. Those without a value are left out. */
export function objectWriter(fields: readonly Field[]): (item: object) => string {
  const prefixed = fields.map(({ name, declared: { write } }) => ({
    name,
    prefix: `${JSON.stringify(name)}:`,
    write,
  }));
  return (item) => {
    let text = '';
    for (const { name, prefix, write } of prefixed) {
      const value = (item as Record<string, unknown>)[name];
      if (value === undefined || value === null) continue;
      text += (text === '' ? prefix : `,${prefix}`) + write(value);
    }
    return `{${text}}`;
  };
}
