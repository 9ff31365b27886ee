declare global {
  interface JSON {
    /** A JSON text that `JSON.stringify` writes unchanged (TC39 JSON.parse source text access). */
    rawJSON(text: string): RawJson;
  }
}

export interface RawJson {
  readonly rawJSON: string;
}

/** An int64 in decimal digits as a JSON integer with all of them. */
export function int64(digits: string): RawJson {
  return JSON.rawJSON(digits);
}
