import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { adviceOn, allErrors, allPermissions } from '../../api/index.js';
import { installedFeatures } from '../../features/index.js';
import { statusesIn } from '../openapi/responses.js';
import type { Page } from './assets.js';
import { escape, htmlOf, idOf } from './markdown.js';
import { operationsOf } from './operations.js';

/** The build keeps them beside the program, as they stand beside it in the repository. */
const FOLDER = new URL('../../../../docs/guides/', import.meta.url);

/** A page that explains one thing. */
export interface Guide {
  /** The last part of its address. */
  readonly name: string;
  readonly title: string;
  /** What it is about, in a line. */
  readonly summary: string;
  /** As it stands in the repository. */
  readonly markdown: string;
  /** What stands before the first of its parts. */
  readonly opening: string;
  readonly parts: readonly Part[];
}

/** What is under a heading of a guide. */
interface Part {
  readonly id: string;
  readonly heading: string;
  readonly text: string;
}

/** What the service says of its guides, and the guides in their order, from `docs/guides`; those of features come last. */
export function readGuides(): { intro: string; guides: Guide[] } {
  const index = read(new URL('README.md', FOLDER));
  const intro = /^# .+\n\n((?:.+\n)+)/.exec(index)![1]!.split('. ')[0]!;
  const listed = index.replaceAll(/\n +/g, ' ').matchAll(/^- \[(.+?)\]\(([\w-]+)\.md\): (.+)$/gm);
  const guides = [...listed].map(([, title, name, summary]) => {
    const facts = { title: title!, name: name!, summary: summary![0]!.toUpperCase() + summary!.slice(1) };
    return readGuide(facts, read(new URL(`${facts.name}.md`, FOLDER)));
  });
  for (const { title, summary, file } of installedFeatures().flatMap((one) => one.guides ?? []))
    guides.push(readGuide({ title, summary, name: basename(file.pathname, '.md') }, read(file)));
  return { intro: `${intro.replaceAll('\n', ' ')}.`, guides };
}

function readGuide(listed: Pick<Guide, 'title' | 'name' | 'summary'>, markdown: string): Guide {
  const [opening = '', ...parts] = markdown.split(/^## (?=.+$)/m);
  return { ...listed, markdown, opening, parts: parts.map(toPart) };
}

function toPart(source: string): Part {
  const [heading = '', ...rest] = source.split('\n');
  return { id: idOf(heading), heading, text: rest.join('\n') };
}

/** A text, whatever the line ends of the checkout are, without the byte order mark that some editors write. */
function read(file: URL): string {
  return new TextDecoder().decode(readFileSync(file)).replaceAll('\r\n', '\n');
}

/** Where a guide says in the repository in which file a list of the code is. */
export const LIST = /<!-- (codes|permissions) -->.*<!-- \/\1 -->/gs;

const LISTS = {
  codes: (document: OpenAPIObject) => {
    const statusesOf = statusesIn(document);
    return table(
      ['Status', 'Code', 'Meaning', 'What to do'],
      allErrors().map(([code, { meaning }]) => [
        statusesOf(code),
        `<span id="${code}">\`${code}\`</span>`,
        meaning,
        adviceOn(code),
      ]),
    );
  },
  permissions: () =>
    table(
      ['Permission', 'What it lets a key do'],
      Object.entries(allPermissions()).map(([name, meaning]) => [`\`${name}\``, meaning]),
    ),
};

function table(heads: string[], rows: string[][]): string {
  return [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** The list of all guides. */
export function guidesPage(intro: string, guides: readonly Guide[]): Page {
  const cards = guides.map(
    ({ name, title, summary }) =>
      `<li><a href="~/guides/${name}"><strong>${escape(title)}</strong></a><p>${escape(summary)}</p></li>`,
  );
  const content = `<main class="guide" id="content">
<h1>Guides</h1>
<p class="summary">${escape(intro)}</p>
<ul class="cards">${cards.join('\n')}</ul>
<p>Every operation with its fields, examples and errors is in the <a href="~/docs">reference</a>.</p>
</main>`;
  return { title: 'Guides', description: intro, content: columns(guides, content) };
}

/** One of the guides, with the lists that the code has. */
export function guidePage(guide: Guide, guides: readonly Guide[], document: OpenAPIObject): Page {
  const place = guides.indexOf(guide);
  const links = new Map(operationsOf(document).map(({ name, address }) => [name, address]));
  const markdown = guide.markdown.replaceAll(LIST, (_, list: keyof typeof LISTS) => LISTS[list](document));
  const content = `<main class="guide" id="content">
<details class="menu"><summary>All guides</summary>${linksTo(guides, guide)}</details>
<article>
${htmlOf(markdown, links, new Set(guides.map(({ name }) => name)))}</article>
<nav class="around row" aria-label="Previous and next guide">
${neighbour('Previous', guides[place - 1])}${neighbour('Next', guides[place + 1])}</nav>
</main>`;
  return { title: guide.title, description: guide.summary, content: columns(guides, content, guide) };
}

function columns(guides: readonly Guide[], main: string, current?: Guide): string {
  return `<div class="columns">
<nav class="side" aria-label="Guides">${linksTo(guides, current)}</nav>
${main}
</div>`;
}

/** Links to all guides, and to the parts of the one that is open. */
function linksTo(guides: readonly Guide[], current?: Guide): string {
  const items = guides.map((guide) => {
    const isOpen = guide === current;
    const mark = isOpen ? ' aria-current="page"' : '';
    const parts = isOpen ? `<ul>${guide.parts.map(toLink).join('')}</ul>` : '';
    return `<li><a href="~/guides/${guide.name}"${mark}>${escape(guide.title)}</a>${parts}</li>`;
  });
  return `<ul>${items.join('\n')}</ul>`;
}

function toLink({ id, heading }: Guide['parts'][number]): string {
  return `<li><a href="#${id}">${escape(heading)}</a></li>`;
}

function neighbour(where: string, guide?: Guide): string {
  if (!guide) return '';
  return `<a class="${where.toLowerCase()}" href="~/guides/${guide.name}"><small>${where}</small> ${escape(guide.title)}</a>\n`;
}
