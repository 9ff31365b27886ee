import { Marked, type Tokens } from 'marked';

/** The origin in the repository's samples; a script of the page replaces it by the service's origin. */
const ORIGIN = /http:\/\/localhost:\d+/g;

/** The place of an operation in the reference, by its method and path: `reference#/pets/createPet` for `POST /pets`. */
export type OperationLinks = ReadonlyMap<string, string>;

/**
 * Renders the Markdown of a guide as HTML. Headings get GitHub's ids; operations and addresses of the service become
 * links; guides link to each other, if they exist, without `.md`. In the result, `~/` is the root of the site.
 */
export function htmlOf(markdown: string, operations: OperationLinks, guides: ReadonlySet<string>): string {
  const marked = new Marked({
    renderer: {
      heading({ depth, text, tokens }: Tokens.Heading) {
        return heading(depth, text, this.parser.parseInline(tokens));
      },
      code: ({ text, lang }: Tokens.Code) => sample(text, lang),
      table({ header, rows }: Tokens.Table) {
        const heads = header.map(({ tokens }) => `<th>${this.parser.parseInline(tokens)}</th>`);
        const cell = ({ tokens }: Tokens.TableCell, i: number) =>
          `<td data-head="${escape(header[i]!.text)}">${this.parser.parseInline(tokens)}</td>`;
        const lines = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>\n`);
        return `<table><thead><tr>${heads.join('')}</tr></thead>\n<tbody>${lines.join('')}</tbody></table>\n`;
      },
      codespan: ({ text }: Tokens.Codespan) => inlineCode(text, operations),
      link({ href, tokens }: Tokens.Link) {
        const [, guide] = /^([\w-]+)\.md\b/.exec(href) ?? [];
        // The link leads to a guide of a feature that this service lacks.
        if (guide && !guides.has(guide)) return this.parser.parseInline(tokens);
        const to = href.replace(/^([\w-]+)\.md\b/, '$1').replace(/^\//, '~/');
        return `<a href="${escape(to)}">${this.parser.parseInline(tokens)}</a>`;
      },
    },
  });
  return marked.parse(markdown, { async: false });
}

function heading(depth: number, text: string, html: string): string {
  if (depth === 1) return `<h1>${html}</h1>\n`;
  const id = idOf(text);
  const anchor = `<a class="anchor" href="#${id}" aria-label="Link to ${escape(text)}">#</a>`;
  return `<h${depth} id="${id}">${html} ${anchor}</h${depth}>\n`;
}

/** Inline code, with a link to the operation or address that it names. */
function inlineCode(text: string, operations: OperationLinks): string {
  const isAddress = /^\/(?:docs|guides|reference|openapi\.\w+)$/.test(text);
  const to = operations.get(text) ?? (isAddress ? text.slice(1) : undefined);
  const code = `<code>${breakable(escape(text))}</code>`;
  return to ? `<a href="~/${escape(to)}">${code}</a>` : code;
}

/** The id of a heading on GitHub. */
export function idOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

const NAMES: Record<string, string> = { sh: 'Shell', js: 'JavaScript', json: 'Answer', http: 'HTTP' };

/** Languages of samples that get a button to copy them: code to run or to start from. */
const COPYABLE = new Set(['sh', 'js', 'ts', 'text', 'curl', 'TypeScript']);

/** A block of code, with its comments and the origin of the service marked. */
export function sample(text: string, info = ''): string {
  const [language = ''] = info.split(' ');
  const [, title] = /title="([^"]+)"/.exec(info) ?? [];
  const name = escape(title ?? NAMES[language] ?? 'Text');
  const lines = escape(text)
    .replaceAll(ORIGIN, '<span class="origin">$&</span>')
    .replaceAll(/^ *(?:#|\/\/|\/\*\*) .*$/gm, '<i>$&</i>');
  const copy = COPYABLE.has(language) ? ' <button type="button" class="button small copy">Copy</button>' : '';
  const code = `<pre tabindex="0" aria-label="${name}"><code>${lines}\n</code></pre>`;
  return `<figure><figcaption class="row">${name}${copy}</figcaption>${code}</figure>\n`;
}

/** Escapes a text for HTML. */
export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Allows a line break in a name after an underscore or a slash. */
export function breakable(text: string): string {
  return text.replaceAll(/(?<=\w[_/])(?=\w)/g, '<wbr>');
}
