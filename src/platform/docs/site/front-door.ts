import type { OpenAPIObject } from '@nestjs/swagger';
import { type ProductFacts, withPresent } from '../openapi/document.js';
import type { WebPage } from './assets.js';
import { escape, htmlOf } from './markdown.js';
import { linksTo } from './named-operations.js';

const LINKS = [
  ['~/guides', 'Guides', 'Keys, pages, retries, errors: a two-minute read each, with samples that work.'],
  ['~/reference', 'Reference', 'Every operation with its fields, examples and errors, to read.'],
  ['~/docs', 'Swagger UI', 'Every operation, to try out in the browser.'],
  ['~/openapi.json', 'OpenAPI, JSON', 'The contract, OpenAPI 3.1, for client generators and tests.'],
  ['~/openapi.yaml', 'OpenAPI, YAML', 'The same document as YAML, easier to read and to compare.'],
  ['~/health/ready', 'Health', 'Whether this service can answer.'],
];

/** The start page: what the service does, a first request, and links. */
export function frontDoor({ title, lead, firstRequest }: ProductFacts, document: OpenAPIObject): WebPage {
  const description = withPresent(lead, document);
  const links = LINKS.map(
    ([to, name, about]) => `<li><a href="${to}"><strong>${name}</strong></a><p>${about}</p></li>`,
  );
  const content = `<main class="front" id="content">
<header class="hero">
<img src="~/assets/favicon.svg" alt="" width="64" height="64" />
<h1>${escape(title)}</h1>
<p class="lead">${escape(description)}</p>
<p class="row"><a class="button primary" href="~/docs">Try it in the browser</a>
<a class="button" href="~/guides">Read the guides</a></p>
</header>
<section aria-labelledby="quickstart">
<h2 id="quickstart">First request</h2>
${htmlOf(withPresent(firstRequest, document), linksTo(document), new Set())}</section>
<section aria-labelledby="more">
<h2 id="more">Where things are</h2>
<ul class="cards">${links.join('\n')}</ul>
</section>
</main>`;
  return { description, content };
}
