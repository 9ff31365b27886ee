import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Express } from 'express';
import { dump } from 'js-yaml';
import { ModulesContainer } from '@nestjs/core';
import { declaredOperations, defaultId } from '../../api/declared-operations.js';
import { aboveVersions, isLaterVersion, versionOf, withoutVersion } from '../../api/versions.js';
import type { Config } from '../../../config.js';
import type { Tag } from '../../api/operation-facts.js';
import { StaticContent } from '../../server/static-content.js';
import { errorComponents } from './errors.js';
import { finishOperation } from './operations.js';
import { finishSchemas } from './schemas.js';
import { HEADERS } from './headers.js';

const DESCRIPTION = `
List, add and fetch the animals of a store; place orders for them; submit messages.

**First steps.** Create an account, create an API key with its email and password, and send that key with every other
request: \`Authorization: Bearer <API key>\`.

**Permissions.** A key may do what its list of permissions says, all that its account may if it was made without one; each
operation names what it needs. A request without that is answered 403 \`permission_denied\`.

**Errors.** Every failure is answered with the same shape: a \`code\` to switch on, a \`message\` to read, and the
\`status\` of the response. The schema \`ErrorCode\` lists [every code with its meaning](/docs#errors).

**Lists.** A list comes in pages, in ascending order of ids. If more follow, the \`Link\` header has the address
of the next page.

**Identifiers** are 64-bit integers, exact in both directions. Those that the service assigns stay below 2^53, so that
JavaScript holds them too.

**Stability.** Operations marked *beta* may still change in details, those marked *experimental* altogether.

**This document** for tools: [openapi.json](/openapi.json), [openapi.yaml](/openapi.yaml).
`.trim();

const BASIC =
  'Email (as the username) and password of an account, only for managing API keys and the account.';
const BEARER =
  'An API key: `POST /api-keys` creates one; a service on its embedded database prints a demo key when it starts.';

/** Builds the OpenAPI document from the controllers and DTOs: each fact stands in only one of them. */
function buildDocument(app: NestExpressApplication, config: Config): OpenAPIObject {
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Pet Store API')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://spdx.org/licenses/MIT.html')
    .addServer(...deployment('Production', config.BASE_URL))
    .addServer(...deployment('Staging', config.STAGING_URL))
    // The key comes last, because Swagger UI puts the cursor there.
    .addSecurity('basicAuth', { type: 'http', scheme: 'basic', description: BASIC })
    .addSecurity('bearerAuth', { type: 'http', scheme: 'bearer', description: BEARER })
    .build();
  const document = SwaggerModule.createDocument(app, base, { operationIdFactory: defaultId });
  document.paths = relativePaths(document.paths, config);
  document.tags = finishOperations(app, document, config);
  finishSchemas(document);
  document.components = { ...document.components, ...errorComponents(document), headers: HEADERS };
  return document;
}

/** Completes every operation, and returns their tags. */
function finishOperations(app: NestExpressApplication, document: OpenAPIObject, config: Config): Tag[] {
  const declared = declaredOperations(app.get(ModulesContainer));
  const tags = new Map<string, Tag>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      const facts = declared.get(operation.operationId!)!;
      finishOperation({ path, method, operation }, facts, document, config);
      tags.set(facts.tag.name, facts.tag);
    }
  }
  return [...tags.values()];
}

/** Serves the document as JSON and as YAML. Swagger's own routes would write and send it in full each time. */
export function serveDocument(app: NestExpressApplication, config: Config): void {
  let document: OpenAPIObject | undefined;
  const build = () => (document ??= buildDocument(app, config));
  serve('json', () => JSON.stringify(build()));
  serve('yaml', () => dump(build(), { skipInvalid: true, noRefs: true }));

  function serve(extension: string, write: () => string): void {
    const content = new StaticContent(extension, () => Buffer.from(write()));
    const express: Express = app.getHttpAdapter().getInstance();
    express.get(`/openapi.${extension}`, (request, response) => content.send(request, response, 'no-cache'));
  }
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** URL and description of a server. Without a URL it is this server, and described so: two may be the same. */
function deployment(name: string, url?: string): [url: string, description: string] {
  return url ? [url, name] : ['/v1', `${name} (this server)`];
}

/**
 * Paths relative to the servers, whose URLs end in `/v1`. Operations that also stand without a version get a server of
 * their own: that of the message interface. The path of a later version keeps it, with a server above the versions.
 */
function relativePaths(
  paths: OpenAPIObject['paths'],
  { API_URL, BASE_URL = '' }: Config,
): OpenAPIObject['paths'] {
  const relative: OpenAPIObject['paths'] = {};
  for (const [path, item] of Object.entries(paths)) {
    const bare = withoutVersion(path);
    if (isLaterVersion(path)) {
      relative[path] = serveAt(item, aboveVersions(BASE_URL) || '/', 'Later versions');
    } else if (versionOf(path)) {
      relative[bare] = paths[bare] ? serveAt(item, API_URL ?? '/v1', 'Messages') : item;
    }
  }
  return relative;
}

/** Gives the operations of a path a server of their own. */
function serveAt(item: OpenAPIObject['paths'][string], url: string, description: string): typeof item {
  for (const method of METHODS) {
    const operation = item[method];
    if (operation) operation.servers = [{ url, description }];
  }
  return item;
}
