import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ModulesContainer } from '@nestjs/core';
import type { Config } from '../../../config.js';
import {
  aboveVersions,
  type DeclaredOperation,
  declaredOperations,
  defaultId,
  isLaterVersion,
  type TagFacts,
  versionOf,
  withoutVersion,
} from '../../api/index.js';
import { RELEASE } from '../../process/index.js';
import { errorComponents } from './errors.js';
import { HEADERS } from './headers.js';
import { addLinks } from './links.js';
import { finishOperation } from './operations.js';
import { HERE } from './placed.js';
import { finishSchemas } from './schemas.js';
import { webhooksOf } from './webhooks.js';

const DESCRIPTION = `
List, add and fetch the animals of a store; place orders for them; submit messages.

**First steps.** Create an account, create an API key with its email and password, and send that key with every other
request: \`Authorization: Bearer <API key>\`. The [guides](/guides) show [each step](/guides/first-steps).

**Permissions.** A key may do what its list of permissions says, all that its account may if it was made without one; each
operation names what it needs. A request without that is answered 403 \`permission_denied\`
([guide](/guides/authentication)).

**Errors.** Every failure is answered with the same shape: a \`code\` to switch on, a \`message\` to read, and the
\`status\` of the response. The schema \`ErrorCode\` lists [every code with its meaning](/docs#errors), the
[guide on errors](/guides/errors) what to do about each.

**Lists.** A list comes in pages, in ascending order of ids. If more follow, the \`Link\` header has the address
of the next page ([guide](/guides/paging)).

**Identifiers** are 64-bit integers, exact in both directions. Those that the service assigns stay below 2^53, so that
JavaScript holds them too ([guide](/guides/int64)).

**Stability.** Operations marked *beta* may still change in details, those marked *experimental* altogether
([guide](/guides/versions)).

**This document** for tools: [openapi.json](/openapi.json), [openapi.yaml](/openapi.yaml). Clients can be generated from it
([guide](/guides/clients)).
`.trim();

const BASIC =
  'Email (as the username) and password of an account, only for managing API keys and the account.';
const BEARER =
  'An API key: `POST /api-keys` creates one; a service on its embedded database prints a demo key when it starts.';

/** Builds the OpenAPI document from the controllers and DTOs: each fact stands in only one of them. */
export function buildDocument(app: NestExpressApplication, config: Config): OpenAPIObject {
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Pet Store API')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .addExtension('x-release', RELEASE, 'info')
    .setLicense('MIT', 'https://spdx.org/licenses/MIT.html')
    .addServer(...deployment('Production', config.BASE_URL))
    .addServer(...deployment('Staging', config.STAGING_URL))
    // The key comes last, because Swagger UI puts the cursor there.
    .addSecurity('basicAuth', { type: 'http', scheme: 'basic', description: BASIC })
    .addSecurity('bearerAuth', { type: 'http', scheme: 'bearer', description: BEARER })
    .build();
  const document = SwaggerModule.createDocument(app, base, { operationIdFactory: defaultId });
  const frontDoor = config.BASE_URL ? aboveVersions(config.BASE_URL) : HERE;
  document.info.contact = { name: 'Pet store team', url: frontDoor };
  document.paths = relativePaths(document.paths, frontDoor, config);
  const declared = declaredOperations(app.get(ModulesContainer));
  document.tags = finishOperations(declared, document, config);
  addLinks(document);
  document.webhooks = webhooksOf(declared.values(), document);
  finishSchemas(document);
  document.components = { ...document.components, ...errorComponents(document), headers: HEADERS };
  return document;
}

/** Completes every operation, and returns their tags. */
function finishOperations(
  declared: Map<string, DeclaredOperation>,
  document: OpenAPIObject,
  config: Config,
): TagFacts[] {
  const tags = new Map<string, TagFacts>();
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

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** URL and description of a server. Without a URL it is this server, and described so: two may be the same. */
function deployment(name: string, url?: string): [url: string, description: string] {
  return url ? [url, name] : ['/v1', `${name} (this server)`];
}

/**
 * Paths relative to the servers, whose URLs end in `/v1`. Operations that also stand without a version get a server of
 * their own: that of the message interface, absolute, because client generators cannot resolve a relative one there. The
 * path of a later version keeps it, with a server above the versions.
 */
function relativePaths(
  paths: OpenAPIObject['paths'],
  frontDoor: string,
  { API_URL, BASE_URL }: Config,
): OpenAPIObject['paths'] {
  const relative: OpenAPIObject['paths'] = {};
  for (const [path, item] of Object.entries(paths)) {
    const bare = withoutVersion(path);
    if (isLaterVersion(path)) {
      relative[path] = serveAt(item, frontDoor, 'Later versions');
    } else if (versionOf(path)) {
      relative[bare] = paths[bare] ? serveAt(item, API_URL ?? BASE_URL ?? `${HERE}/v1`, 'Messages') : item;
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
