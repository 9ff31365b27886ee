import type { Access } from '../../api/index.js';

/** How to make a call in a language, ready to paste. */
export interface Sample {
  lang: string;
  label: string;
  source: string;
}

/** A text, bytes, or a file of the reader's by its name. */
interface Content {
  type: string;
  text?: string;
  base64?: string;
  file?: string;
}

/** A call, as samples show it. */
export interface Call {
  /** In capitals. */
  method: string;
  url: string;
  access: Access;
  /** Headers beside those of credentials and content. */
  headers?: Readonly<Record<string, string>>;
  /** What is sent as JSON. */
  body?: unknown;
  /** A body that is sent as it stands, instead: one that no value of JavaScript is, such as a number of 20 digits. */
  text?: string;
  /** A body of another type, instead: a text, or bytes. */
  content?: Content;
  /** The fields of a form, instead; those with a type are files. */
  form?: readonly (Partial<Content> & { name: string })[];
  /** What the answer has, beside its status: JSON when left out. */
  answers?: 'text' | 'bytes' | 'nothing' | 'events';
  /** The credentials; without them the samples read variables of the environment. */
  key?: string;
  email?: string;
  password?: string;
}

/** The samples of a call. Browsers load this file too, for the samples of what stands in their fields. */
export function samplesOf(call: Call): Sample[];
