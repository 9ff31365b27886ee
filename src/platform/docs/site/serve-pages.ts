import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { adviceOn, allErrors, type ErrorCode, JSON_TYPE } from '../../api/index.js';
import { StaticContent } from '../../server/index.js';
import { HERE } from '../openapi/operations.js';
import { statusesIn } from '../openapi/responses.js';
import { schemaOf } from '../openapi/schemas.js';
import { Assets, pageHeaders } from './assets.js';
import { type Guide, guidePage, guidesPage, LIST, readGuides } from './guides.js';
import { type NamedOperation, operationsOf } from './operations.js';
import { referencePage } from './reference.js';
import { SIGNED_IN, SignIn } from './sign-in.js';
import { trialOf } from './trial.js';

/** Serves the reference, which is made when it is first asked for. */
export function serveDocs(app: NestExpressApplication, config: Config, document: () => OpenAPIObject): void {
  const assets = app.get(Assets);
  const signIn = config.OIDC_CLIENT_ID === undefined ? undefined : new SignIn(config);
  const guides = new Set(readGuides().guides.map(({ name }) => name));
  const start = (signIn ? assets.part('sign-in.html') : '') + assets.part('start.html');
  const docs = () => assets.inShell(referencePage(document(), { start, guides }), '');
  servePage(app, config, '/docs', docs, () => signIn?.called());
  serveJson(app, '/docs/trial.json', () => JSON.stringify(trialOf(document())).replaceAll(HERE, ''));
  if (!signIn) return;
  servePage(app, config, '/docs/signed-in', () => assets.inShell(SIGNED_IN, '../'));
  app
    .get(HttpAdapterHost)
    .httpAdapter.get('/docs/sign-in.json', async (_request: Request, response: Response) => {
      response.set('Cache-Control', 'no-store').json(await signIn.offer());
    });
}

/** Serves the guides, and what the search box finds, each of which is made when it is first asked for. */
export function serveGuides(
  app: NestExpressApplication,
  config: Config,
  document: () => OpenAPIObject,
): void {
  const { intro, guides } = readGuides();
  const assets = app.get(Assets);
  servePage(app, config, '/guides', () => assets.inShell(guidesPage(intro, guides), ''));
  for (const guide of guides)
    servePage(app, config, `/guides/${guide.name}`, () =>
      assets.inShell(guidePage(guide, guides, document()), '../'),
    );
  serveJson(app, '/search.json', () => JSON.stringify(searchIndex(guides, document())));
}

function serveJson(app: NestExpressApplication, path: string, write: () => string): void {
  const content = new StaticContent('json', () => Buffer.from(write()));
  app
    .get(HttpAdapterHost)
    .httpAdapter.get(path, (request: Request, response: Response) =>
      content.send(request, response, 'no-cache'),
    );
}

/**
 * The files of a page are found relative to it, so that it also stands behind a proxy that adds a prefix.
 * @param called what the page may call beside the service
 */
function servePage(
  app: NestExpressApplication,
  config: Config,
  path: string,
  write: () => string,
  called?: () => Promise<string[]> | undefined,
): void {
  const content = new StaticContent('html', () => Buffer.from(write()));
  app.get(HttpAdapterHost).httpAdapter.get(path, async (request: Request, response: Response) => {
    if (request.path.endsWith('/')) return response.redirect(308, `../${request.path.split('/').at(-2)}`);
    await content.send(request, response.set(pageHeaders(config, await called?.())), 'no-store');
  });
}

/** Something that can be found. */
interface Entry {
  readonly kind: 'Guide' | 'Operation' | 'Field' | 'Error';
  readonly title: string;
  /** What stands below the title. */
  readonly about: string;
  readonly text: string;
  /** Relative to the root of the site. */
  readonly address: string;
}

/** Everything that the search box finds: guides and their parts, operations, fields, and error codes. */
function searchIndex(guides: readonly Guide[], document: OpenAPIObject): Entry[] {
  const operations = operationsOf(document).map(ofOperation);
  const statusesOf = statusesIn(document);
  const errors = allErrors().map(([code, { meaning }]) => ofError(code, meaning, statusesOf(code)));
  return [...guides.flatMap(ofGuide), ...operations, ...fieldsOf(document), ...errors];
}

/** What is asked for: the parameters of operations and the properties of their bodies, each where it comes first. */
function fieldsOf(document: OpenAPIObject): Entry[] {
  const fields = new Map<string, Entry>();
  for (const { name, address, operation } of operationsOf(document)) {
    const { parameters = [], requestBody } = operation;
    const { properties = {} } = schemaOf(document, requestBody?.content?.[JSON_TYPE]?.schema ?? {});
    const ofBody = Object.entries(properties).map(([one, { description }]) => ({ name: one, description }));
    for (const { name: title, description = '' } of [...parameters, ...ofBody])
      if (!fields.has(title))
        fields.set(title, { kind: 'Field', title, about: plainOf(description), text: name, address });
  }
  return [...fields.values()];
}

function ofGuide({ name, title, summary, opening, parts }: Guide): Entry[] {
  const [kind, address] = ['Guide', `guides/${name}`] as const;
  const ofPart = ({ id, heading, text }: Guide['parts'][number]): Entry => {
    return { kind, title: heading, about: title, text: wordsOf(text), address: `${address}#${id}` };
  };
  return [{ kind, title, about: summary, text: wordsOf(opening), address }, ...parts.map(ofPart)];
}

/** The words of a text in Markdown, without its tables and lists: that of the error codes has entries of its own. */
function wordsOf(markdown: string): string {
  return markdown
    .replaceAll(LIST, '')
    .replaceAll(/^\|.*\|$/gm, '')
    .replaceAll(/[`*|>#]+/g, ' ');
}

/** A line in Markdown as it is read, without the links that only refer: `([guide](…))`. */
function plainOf(markdown: string): string {
  return markdown
    .replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '');
}

function ofOperation({ name, id, summary, description, address }: NamedOperation): Entry {
  return { kind: 'Operation', title: summary, about: name, text: `${id} ${description}`, address };
}

function ofError(code: ErrorCode, meaning: string, statuses: string): Entry {
  const text = `${statuses} ${adviceOn(code)}`;
  return { kind: 'Error', title: code, about: plainOf(meaning), text, address: `guides/errors#${code}` };
}
