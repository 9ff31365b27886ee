/** An exact integer of 64 bits: a number up to 2^53 - 1, a bigint above. The service assigns ids up to 2^53 - 1. */
export type Int64 = number | bigint;

/** A string or a number in JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
/** The start of the strings that replace larger integers while JSON is parsed. It is random, so no string of the data has it. */
const MARK = `${crypto.getRandomValues(new Uint32Array(4)).join('-')}:`;
const MARKED = new RegExp(`^"${MARK}(-?\\d+)"$`);

/** Parses JSON. A reviver's `context.source` would need Node 22. */
export function parse(json: string): unknown {
  if (!/\d{16}/.test(json)) return JSON.parse(json);
  const marked = json.replace(TOKEN, (token) => (isLarge(token) ? JSON.stringify(MARK + token) : token));
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/** Writes JSON with exact integers. */
export function stringify(value: unknown): string {
  const marked = JSON.stringify(value, (_name, one: unknown) => (typeof one === 'bigint' ? MARK + one : one));
  return marked.replace(TOKEN, (token) => MARKED.exec(token)?.[1] ?? token);
}

function isLarge(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}
