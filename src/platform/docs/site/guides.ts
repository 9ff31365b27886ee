import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { adviceOn, allErrors, allPermissions } from '../../api/index.js';
import type { FeatureGuide } from '../../features/index.js';
import { withPresent } from '../openapi/document.js';
import { statusesIn } from '../openapi/responses.js';
import type { WebPage } from './assets.js';
import { escape, htmlOf, idOf } from './markdown.js';
import { linksTo } from './named-operations.js';

/** The folder of the guides, which the build copies, so that the path is the same as in the repository. */
const FOLDER = new URL('../../../../docs/guides/', import.meta.url);

interface Guide {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly markdown: string;
}

/** The introduction to the guides, and all guides in order: those of `docs/guides`, then those of features. */
export function readGuides(featureGuides: readonly FeatureGuide[]): { intro: string; guides: Guide[] } {
  const index = read(new URL('README.md', FOLDER));
  const intro = /^# .+\n\n((?:.+\n)+)/.exec(index)![1]!.split('. ')[0]!;
  const listed = index.replaceAll(/\n +/g, ' ').matchAll(/^- \[(.+?)\]\(([\w-]+)\.md\): (.+)$/gm);
  const guides = [...listed].map(([, title, name, summary]) => {
    const facts = { title: title!, name: name!, summary: summary![0]!.toUpperCase() + summary!.slice(1) };
    return { ...facts, markdown: read(new URL(`${facts.name}.md`, FOLDER)) };
  });
  for (const { title, summary, file } of featureGuides)
    guides.push({ title, summary, name: basename(file.pathname, '.md'), markdown: read(file) });
  return { intro: `${intro.replaceAll('\n', ' ')}.`, guides };
}

/** A text with normalised line ends, and without a byte order mark. */
function read(file: URL): string {
  return new TextDecoder().decode(readFileSync(file)).replaceAll('\r\n', '\n');
}

/** The place of a generated list in a guide; in the repository, the text there names the file of the list. */
const GENERATED = /<!-- (codes|permissions) -->.*<!-- \/\1 -->/gs;

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

/** The page that lists all guides. */
export function guidesPage(intro: string, guides: readonly Guide[]): WebPage {
  const cards = guides.map(
    ({ name, title, summary }) =>
      `<li><a href="~/guides/${name}"><strong>${escape(title)}</strong></a><p>${escape(summary)}</p></li>`,
  );
  const content = `<main class="guide" id="content">
<h1>Guides</h1>
<p class="summary">${escape(intro)}</p>
<ul class="cards">${cards.join('\n')}</ul>
<p>Every operation with its fields, examples and errors is in the <a href="~/reference">reference</a>.</p>
</main>`;
  return { title: 'Guides', description: intro, content: columns(menuOf(guides), content) };
}

/** The page of a guide, with generated lists. */
export function guidePage(guide: Guide, guides: readonly Guide[], document: OpenAPIObject): WebPage {
  const place = guides.indexOf(guide);
  const whole = guide.markdown.replaceAll(GENERATED, (_, list: keyof typeof LISTS) => LISTS[list](document));
  const markdown = withPresent(whole, document);
  const headings = Array.from(markdown.matchAll(/^## (.+)$/gm), ([, heading]) => heading!);
  const menu = menuOf(guides, guide, headings);
  const content = `<main class="guide" id="content">
<details class="menu"><summary>All guides</summary>${menu}</details>
<article>
${htmlOf(markdown, linksTo(document), new Set(guides.map(({ name }) => name)))}</article>
<nav class="around row" aria-label="Previous and next guide">
${neighbour('Previous', guides[place - 1])}${neighbour('Next', guides[place + 1])}</nav>
</main>`;
  return { title: guide.title, description: guide.summary, content: columns(menu, content) };
}

function columns(menu: string, main: string): string {
  return `<div class="columns">
<nav class="side" aria-label="Guides">${menu}</nav>
${main}
</div>`;
}

/** Links to all guides, and to the headings of the current one. */
function menuOf(guides: readonly Guide[], current?: Guide, headings: readonly string[] = []): string {
  const parts = headings.map((heading) => `<li><a href="#${idOf(heading)}">${escape(heading)}</a></li>`);
  const items = guides.map((guide) => {
    const isCurrent = guide === current;
    const mark = isCurrent ? ' aria-current="page"' : '';
    const link = `<a href="~/guides/${guide.name}"${mark}>${escape(guide.title)}</a>`;
    return `<li>${link}${isCurrent ? `<ul>${parts.join('')}</ul>` : ''}</li>`;
  });
  return `<ul>${items.join('\n')}</ul>`;
}

function neighbour(where: string, guide?: Guide): string {
  if (!guide) return '';
  return `<a class="${where.toLowerCase()}" href="~/guides/${guide.name}"><small>${where}</small> ${escape(guide.title)}</a>\n`;
}
