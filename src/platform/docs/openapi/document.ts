import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ModulesContainer } from '@nestjs/core';
import type { Config } from '../../../config.js';
import {
  aboveVersions,
  type DeclaredOperation,
  declaredOperations,
  defaultId,
  fieldsIn,
  isLaterVersion,
  requireSound,
  schemasOf,
  type Tags,
  versionOf,
  type Webhook,
  withoutVersion,
} from '../../api/index.js';
import { Features } from '../../features/index.js';
import { discoveryUrl, RELEASE } from '../../process/index.js';
import { finishOperation, OIDC } from './finish-operation.js';
import { errorComponents, headersIn } from './responses.js';
import {
  completeSchemas,
  exampleFor,
  HERE,
  inlined,
  type Operation,
  type Placed,
  placedIn,
  withSchemas,
} from './schemas.js';

/** Texts of the product for the document. The module of the application provides them. */
export abstract class ProductFacts {
  abstract readonly title: string;
  /** Version of the interface, not of the program. */
  abstract readonly version: string;
  /** Markdown. */
  abstract readonly description: string;
  abstract readonly team: string;
  abstract readonly license: { readonly name: string; readonly url: string };
  /** Descriptions of the security schemes: where the credentials come from, and what they are for. */
  abstract readonly credentials: {
    readonly basic: string;
    readonly bearer: string;
    readonly openIdConnect: string;
  };
  /** Description of the server for addresses without a version. */
  abstract readonly unversioned: string;
  /** What the service does, in a sentence: the lead of the start page. */
  abstract readonly lead: string;
  /** A first request, for the start page: a sentence and commands, in Markdown. */
  abstract readonly firstRequest: string;
  /** The descriptions of tags that no feature describes. */
  abstract readonly tags: Tags;
}

/** Removes `<!-- with createPet -->…<!-- /with -->` for operations that this service lacks. */
export function withPresent(text: string, { paths }: OpenAPIObject): string {
  const ids = new Set(placedIn(paths).map(({ operation }) => operation.operationId));
  return text.replaceAll(PARTS, (_all, id: string, _line, part: string) => (ids.has(id) ? part : ''));
}

/** A comment on a line of its own is removed with the line. */
const PARTS = /<!-- with (\w+) -->(\n\n)?(.*?)<!-- \/with -->\2/gs;

/** Builds the OpenAPI document from the controllers and DTOs, the single source of each fact. */
export function buildDocument(app: NestExpressApplication, config: Config): OpenAPIObject {
  const { title, version, description, team, license, credentials, unversioned, tags } =
    app.get(ProductFacts);
  const described = { ...tags, ...app.get(Features).tags };
  const modules = app.get(ModulesContainer);
  // Checked for the command that writes the document; a started service has checked its operations already.
  requireSound(modules, described, Infinity);
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(title)
    .setVersion(version)
    .addExtension('x-release', RELEASE, 'info')
    .setLicense(license.name, license.url)
    .addServer(...deployment('Production', config.BASE_URL))
    .addServer(...deployment('Staging', config.STAGING_URL))
    // The key comes last, because Swagger UI puts the cursor there.
    .addSecurity('basicAuth', { type: 'http', scheme: 'basic', description: credentials.basic })
    .addSecurity('bearerAuth', { type: 'http', scheme: 'bearer', description: credentials.bearer })
    .build();
  if (config.OIDC_ISSUER)
    base.components!.securitySchemes![OIDC] = {
      type: 'openIdConnect',
      openIdConnectUrl: discoveryUrl(config.OIDC_ISSUER),
      description: credentials.openIdConnect,
      ...(config.OIDC_CLIENT_ID ? { 'x-client-id': config.OIDC_CLIENT_ID } : {}),
    };
  // Without the routes that the document leaves out.
  const declared = declaredOperations(modules).filter(({ addresses }) => addresses !== undefined);
  const options = { operationIdFactory: defaultId, autoTagControllers: false };
  // Swagger does not see the classes inside a field.
  const extraModels = [...schemasOf(declared)].filter((type) => fieldsIn(type).length > 0);
  const document = withSchemas(SwaggerModule.createDocument(app, base, { ...options, extraModels }));
  const frontDoor = config.BASE_URL ? aboveVersions(config.BASE_URL) : HERE;
  document.info.contact = { name: team, url: frontDoor };
  document.paths = relativePaths(document.paths, frontDoor, unversioned, config);
  document.info.description = withPresent(description, document);
  completeSchemas(document, declared);
  const byId = new Map(declared.map((facts) => [facts.id, facts]));
  for (const placed of placedIn(document.paths))
    finishOperation(placed, byId.get(placed.operation.operationId!)!, document, config);
  document.tags = tagsIn(document, described);
  addLinks(document);
  document.webhooks = webhooksOf(declared, document);
  document.components = {
    ...document.components,
    ...errorComponents(document),
    headers: headersIn(document),
  };
  return document;
}

/** The tags of all operations, in the order of the operations. */
function tagsIn({ paths }: OpenAPIObject, described: Tags): { name: string; description: string }[] {
  const names = placedIn(paths).flatMap(({ operation: { tags = [] } }) => tags);
  return [...new Set(names)].map((name) => ({ name, description: described[name] ?? '' }));
}

/**
 * URL and description of a server. Without a configured URL, the server is this service, as the description says. The URL
 * has an origin, because tools that import the document mistake a relative URL for the whole address.
 */
function deployment(name: string, url?: string): [url: string, description: string] {
  return url ? [url, name] : [`${HERE}/v1`, `${name} (this server)`];
}

/**
 * Paths relative to the servers, whose URLs end in `/v1`. An operation that is also served without a version gets its own
 * server with an absolute URL, because client generators cannot resolve a relative URL there. The path of a later version
 * keeps the version, and its server URL has none.
 */
function relativePaths(
  paths: OpenAPIObject['paths'],
  frontDoor: string,
  unversioned: string,
  { API_URL, BASE_URL }: Config,
): OpenAPIObject['paths'] {
  const relative: OpenAPIObject['paths'] = {};
  for (const [path, item] of Object.entries(paths)) {
    const bare = withoutVersion(path);
    if (isLaterVersion(path)) {
      relative[path] = serveAt(item, frontDoor, 'Later versions');
    } else if (versionOf(path)) {
      relative[bare] = paths[bare] ? serveAt(item, API_URL ?? BASE_URL ?? `${HERE}/v1`, unversioned) : item;
    }
  }
  return relative;
}

function serveAt(item: OpenAPIObject['paths'][string], url: string, description: string): typeof item {
  for (const operation of Object.values(item as Record<string, Operation>))
    operation.servers = [{ url, description }];
  return item;
}

/** Links a created resource to the operations on its `Location` (https://spec.openapis.org/oas/v3.1.1.html#link-object). */
function addLinks({ paths }: OpenAPIObject): void {
  const all = placedIn(paths);
  for (const { path, method, operation } of all) {
    const created = Object.values(operation.responses).find(({ headers }) => headers?.Location);
    if (created) created.links = linksTo(all, method === 'put' ? path.replace(/[^/]+$/, '') : `${path}/`);
  }
}

function linksTo(all: readonly Placed[], above: string): Record<string, object> {
  const links: Record<string, object> = {};
  for (const { path, method, operation } of all) {
    const [, parameter] = (path.startsWith(above) && /^\{(\w+)\}$/.exec(path.slice(above.length))) || [];
    if (!parameter || method === 'post') continue;
    const parameters = { [parameter]: '$response.body#/id' };
    const { operationId, summary } = operation;
    links[operationId!] = { operationId, description: summary, parameters };
  }
  return links;
}

/** Keeps openapi-generator from writing a client for a webhook: that client would replace the API client of the same tag. */
const NOT_FOR_CLIENTS = { 'x-internal': true };

function webhooksOf(
  operations: readonly DeclaredOperation[],
  document: OpenAPIObject,
): Record<string, { post: Operation }> {
  const all = operations.flatMap(({ webhook, tags }) => {
    if (!webhook) return [];
    const post = { tags: tags.slice(0, 1), ...NOT_FOR_CLIENTS, ...webhookOperation(webhook, document) };
    return [[webhook.id, { post }] as const];
  });
  return Object.fromEntries(all);
}

function webhookOperation(webhook: Webhook, document: OpenAPIObject): Operation {
  const { id, summary, description, headers, answers } = webhook;
  const reference = { $ref: getSchemaPath(webhook.body) };
  const schema = inlined(reference, document);
  const content = { 'application/json': { schema, example: exampleFor(document, reference) } };
  const responses = Object.entries(answers).map(([status, means]) => [status, { description: means }]);
  return {
    operationId: id,
    summary,
    description,
    security: [],
    parameters: Object.entries(headers).map(([name, means]) => {
      return { name, in: 'header', required: true, description: means, schema: { type: 'string' } };
    }),
    requestBody: { required: true, content },
    responses: Object.fromEntries(responses),
  };
}
