import type { Page } from './assets.js';
import type { Guide } from './guides.js';
import { escape, htmlOf, type OperationLinks } from './markdown.js';

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

/** One of the guides. */
export function guidePage(guide: Guide, guides: readonly Guide[], operations: OperationLinks): Page {
  const place = guides.indexOf(guide);
  const content = `<main class="guide" id="content">
<details class="menu"><summary>All guides</summary>${list(guides, guide)}</details>
<article>
${htmlOf(guide.markdown, operations)}</article>
<nav class="around" aria-label="Previous and next guide">
${neighbour('Previous', guides[place - 1])}${neighbour('Next', guides[place + 1])}</nav>
</main>`;
  return { title: guide.title, description: guide.summary, content: columns(guides, content, guide) };
}

function columns(guides: readonly Guide[], main: string, current?: Guide): string {
  return `<div class="columns">
<nav class="side" aria-label="Guides">${list(guides, current)}</nav>
${main}
</div>`;
}

/** Links to all guides, and to the parts of the one that is open. */
function list(guides: readonly Guide[], current?: Guide): string {
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
