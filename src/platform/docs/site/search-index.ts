import { adviceOn, allErrors, type ErrorCode, type ErrorFacts } from '../../api/index.js';
import type { Guide } from './guides.js';
import type { NamedOperation } from './operation-links.js';

/** Something that can be found. */
interface Entry {
  readonly kind: 'Guide' | 'Operation' | 'Error';
  readonly title: string;
  /** What stands below the title. */
  readonly about: string;
  readonly text: string;
  /** Relative to the root of the site. */
  readonly address: string;
}

/** Everything that the search box finds: guides and their parts, operations, and error codes. */
export function searchIndex(guides: readonly Guide[], operations: readonly NamedOperation[]): Entry[] {
  return [...guides.flatMap(ofGuide), ...operations.map(ofOperation), ...allErrors().map(ofError)];
}

function ofGuide({ name, title, summary, opening, parts }: Guide): Entry[] {
  const address = `guides/${name}`;
  const whole: Entry = { kind: 'Guide', title, about: summary, text: wordsOf(opening), address };
  return [
    whole,
    ...parts.map(({ id, heading, text }): Entry => {
      return {
        kind: 'Guide',
        title: heading,
        about: title,
        text: wordsOf(text),
        address: `${address}#${id}`,
      };
    }),
  ];
}

/** The words of a text in Markdown, without its tables: that of the error codes has entries of its own. */
function wordsOf(markdown: string): string {
  return markdown.replaceAll(/^\|.*\|$/gm, '').replaceAll(/[`*|>#]+/g, ' ');
}

function ofOperation({ name, id, summary, description, address }: NamedOperation): Entry {
  return { kind: 'Operation', title: summary, about: name, text: `${id} ${description}`, address };
}

function ofError([code, { status, meaning }]: [ErrorCode, ErrorFacts]): Entry {
  const text = `${status} ${adviceOn(code)}`;
  return { kind: 'Error', title: code, about: meaning, text, address: `guides/errors#${code}` };
}
