import type { OpenAPIObject, RequestBodyObject, ResponseObject } from '@nestjs/swagger';
import { JSON_TYPE } from '../../api/index.js';
import { HERE, type Schema } from '../openapi/schemas.js';
import type { WebPage } from './assets.js';
import { type ListedField, FieldLists } from './field-lists.js';
import { breakable, escape, htmlOf, type OperationLinks, sample } from './markdown.js';
import { linksTo, namedIn, type NamedOperation } from './named-operations.js';

/** The whole document, readable without a script. In its addresses, `~/` is the root of the site. @param guides by name */
export function referencePage(document: OpenAPIObject, guides: ReadonlySet<string>): WebPage {
  return new Reference(document, guides).page();
}

const ACCESS: Record<string, string> = {
  bearerAuth: 'an API key',
  basicAuth: 'the email and password of an account',
  openIdConnect: 'an access token of the identity provider',
};

class Reference {
  private readonly operations: readonly NamedOperation[];
  private readonly links: OperationLinks;
  private readonly fields: FieldLists;

  constructor(
    private readonly document: OpenAPIObject,
    private readonly guides: ReadonlySet<string>,
  ) {
    this.operations = namedIn(document.paths);
    this.links = linksTo(document);
    this.fields = new FieldLists(document, (markdown) => this.textOf(markdown));
  }

  page(): WebPage {
    const { info, tags = [], webhooks } = this.document;
    const list = this.linksToAll();
    const sections = tags.map(({ name, description = '' }) => {
      const articles = this.operations
        .filter(({ tag }) => tag === name)
        .map((one) => this.article(one, true));
      return section(name, this.textOf(description), articles.join('\n'));
    });
    const sent = namedIn(webhooks, 'webhooks').map((webhook) => this.article(webhook, false));
    if (sent.length > 0)
      sections.push(
        section('webhooks', '<p>Requests that the service sends to a configured address.</p>', sent.join('')),
      );
    const content = `<div class="columns">
<nav class="side" aria-label="Operations">${list}</nav>
<main class="reference" id="content">
<details class="menu"><summary>All operations</summary>${list}</details>
<h1>${escape(info.title)} <small>${escape(info.version)}</small></h1>
<div class="about">${this.textOf(info.description ?? '')}${licenseOf(info)}</div>
${sections.join('\n')}
${this.errorCodes()}</main>
</div>`;
    return {
      title: 'Reference',
      description: 'Every operation, with its fields, answers and errors.',
      content: content.replaceAll(HERE, '<span class="origin">http://localhost:3000</span>'),
    };
  }

  private textOf(markdown: string): string {
    return htmlOf(markdown, this.links, this.guides);
  }

  private linksToAll(): string {
    const link = ({ name, summary, place, mark }: NamedOperation) =>
      `<li><a href="#${escape(place)}" title="${escape(name)}">${escape(summary)}</a>${mark ? ` ${badge(mark, mark)}` : ''}</li>`;
    const byTag = Map.groupBy(this.operations, ({ tag }) => tag);
    const tags = (this.document.tags ?? []).map(
      ({ name }) =>
        `<li><strong>${escape(name)}</strong><ul>${byTag.get(name)?.map(link).join('')}</ul></li>`,
    );
    return `<ul>${tags.join('\n')}\n<li><a href="#errors">Error codes</a></li></ul>`;
  }

  /** @param isCallable false for a webhook, which clients receive */
  private article(named: NamedOperation, isCallable: boolean): string {
    const { id, place, path, method, summary, description, operation } = named;
    const sunset = operation['x-deprecated-sunset'];
    const stability = operation['x-stability'];
    const marks = [
      ...(stability ? [badge(stability, stability)] : []),
      ...(sunset ? [badge('deprecated', `deprecated, until ${sunset}`)] : []),
    ];
    const code = `<code>${breakable(escape(path))}</code>`;
    const address = isCallable ? (operation.deprecated ? ` <s>${code}</s>` : ` ${code}`) : '';
    const route = `<b class="method ${method}">${method.toUpperCase()}</b>${address}`;
    const tryOut = `<p><a class="button primary try" href="~/docs#${escape(place)}" aria-label="Try it out: ${escape(summary)}">Try it out</a></p>\n`;
    return `<article class="operation" id="${escape(place)}" data-id="${escape(id)}">
<div class="head">
<h3>${escape(summary)} <a class="anchor" href="#${escape(place)}" aria-label="Link to ${escape(summary)}">#</a></h3>
<p class="route">${route} ${marks.join(' ')}</p>
${this.textOf(description)}${isCallable ? accessTo(operation.security) : ''}
</div>
<div class="shown">
${isCallable ? tryOut : ''}${samplesOf(named)}${this.exampleOf(operation.requestBody, isCallable ? undefined : 'Body')}${this.answerExample(named)}</div>
<div class="said">
${this.parametersOf(named)}${this.bodyOf(named)}${this.answersOf(named)}</div>
</article>`;
  }

  private parametersOf({ operation }: NamedOperation): string {
    const { parameters: all = [] } = operation;
    if (all.length === 0) return '';
    const fields = all.map(({ name, in: sentIn, required, description, schema = {} }): ListedField => ({
      ...{ name, sentIn, description, schema },
      isRequired: required,
    }));
    return `<h4>Parameters</h4>\n${this.fields.list(fields)}`;
  }

  private bodyOf({ operation }: NamedOperation): string {
    const body = operation.requestBody;
    return Object.entries(body?.content ?? {})
      .map(([type, { schema = {} }]) => {
        const kind = type === JSON_TYPE ? 'JSON' : escape(type);
        const { minProperties } = this.fields.resolved(schema);
        const least = minProperties === 1 ? '<p class="limits">At least one of the fields.</p>' : '';
        const optional = body!.required === false ? ', optional' : '';
        return `<h4>Body <small>${kind}${optional}</small></h4>\n${least}${this.fields.fieldsOf(schema)}`;
      })
      .join('');
  }

  private answersOf({ operation }: NamedOperation): string {
    const all = Object.entries(operation.responses);
    const isError = ([status, { content }]: [string, ResponseObject]) =>
      status >= '400' && status < '600' && content !== undefined;
    const answers = all.filter((entry) => !isError(entry)).map((entry) => this.answer(...entry));
    const errors = all.filter(isError);
    return `<h4>Answers</h4>\n${answers.join('\n')}${errors.length > 0 ? this.errorsOf(errors) : ''}`;
  }

  private answer(status: string, { description, headers, content, links }: ResponseObject): string {
    const bodies = Object.entries(content ?? {}).map(([type, { schema = {} }]) => {
      if (type !== JSON_TYPE) return `<p class="limits">${escape(type)}</p>`;
      const isList = this.fields.resolved(schema).items !== undefined;
      return `${isList ? '<p class="limits">A list; each item has:</p>' : ''}${this.fields.fieldsOf(schema)}`;
    });
    const next = this.operations.filter(({ id }) => links && id in links);
    const ways = next.map(({ place, summary }) => `<a href="#${escape(place)}">${escape(summary)}</a>`);
    const list = this.fields.list(this.headersOf(headers));
    const heads = list && `<details><summary>Headers</summary>${list}</details>`;
    return `<div class="answer"><div class="status"><b>${escape(status)}</b> ${this.textOf(description)}</div>
${bodies.join('')}${heads}${ways.length > 0 ? `<p class="next">Next: ${ways.join(', ')}</p>` : ''}</div>`;
  }

  private headersOf(headers: ResponseObject['headers'] = {}): ListedField[] {
    return Object.entries(headers).map(([name, header]) => {
      const { schema, description, example } = this.fields.resolved(header as Schema) as ListedField;
      return { name, schema, description, example };
    });
  }

  private errorsOf(errors: [string, ResponseObject][]): string {
    const items = errors.map(
      ([status, { description }]) =>
        `<li><b>${status}</b> <div>${this.textOf(linkedCodes(description))}</div></li>`,
    );
    const headers = new Map(
      errors
        .flatMap(([, answer]) => this.headersOf(answer.headers))
        .map((header) => [header.name + header.description, header]),
    );
    const statuses = errors.map(([status]) => status).join(', ');
    return `<details class="errors"><summary><h4>Errors</h4> ${statuses}</summary>
<ul class="codes">${items.join('\n')}</ul>
<p class="limits">Each is an <a href="#errors">Error</a>, with these headers where they apply:</p>
${this.fields.list([...headers.values()])}</details>\n`;
  }

  private answerExample({ operation }: NamedOperation): string {
    const found = Object.entries(operation.responses).find(([status]) => status < '300');
    return found ? this.exampleOf(found[1], `Answer ${found[0]}`) : '';
  }

  private exampleOf(body: Partial<RequestBodyObject> | undefined, title?: string): string {
    const all = Object.entries(body?.content ?? {});
    const [type, { example } = {}] = all.find(([, media]) => media.example !== undefined) ?? [];
    if (example === undefined || title === undefined) return '';
    if (type !== JSON_TYPE) return sample(example as string, `text title="${title}"`);
    return sample(JSON.stringify(example, null, 2), `json title="${title}"`);
  }

  /** All codes with their statuses, from the table of the document. */
  private errorCodes(): string {
    const { ErrorCode, Error } = this.document.components!.schemas as Record<string, Schema>;
    const { code, ...properties } = Error!.properties!;
    const text = { type: 'string', description: code!.description };
    return `<section class="tag"><h2 id="errors">Error codes</h2><span id="/errors"></span>
<p>Every failure has the same shape:</p>
${this.fields.fieldsOf({ ...Error, properties: { code: text, ...properties } })}
${this.textOf(linkedCodes(ErrorCode!.description!))}</section>\n`;
  }
}

function section(name: string, about: string, operations: string): string {
  return `<section class="tag"><h2 id="/${escape(name)}">${escape(name)}</h2>
<div class="about">${about}</div>
${operations}</section>`;
}

function badge(kind: string, text: string): string {
  return `<small class="badge ${escape(kind)}">${escape(text)}</small>`;
}

/** Links each code to its advice in the guide. */
function linkedCodes(markdown: string): string {
  return markdown.replaceAll(/`([a-z_]+)`(?=:| \|)/g, '[`$1`](/guides/errors#$1)');
}

function accessTo(security: readonly object[] | undefined): string {
  const schemes = [...new Set((security ?? []).flatMap((scheme) => Object.keys(scheme)))];
  const names = schemes.map((scheme) => ACCESS[scheme] ?? scheme);
  if (names.length === 0) return '<p class="access">Public: needs no credentials.</p>';
  return `<p class="access">Needs <a href="~/guides/authentication">${names.join(' or ')}</a>.</p>`;
}

function licenseOf({ license }: OpenAPIObject['info']): string {
  return `<p>License: <a href="${escape(license!.url!)}">${escape(license!.name)}</a>.</p>`;
}

/** Samples in all languages; the reader can choose one without a script. */
function samplesOf({ id, operation }: NamedOperation): string {
  const { 'x-codeSamples': samples = [] } = operation;
  if (samples.length === 0) return '';
  const choices = samples.map(
    ({ label }, i) =>
      `<label><input type="radio" name="sample-${escape(id)}" value="${escape(label)}"${i === 0 ? ' checked' : ''} /><span>${escape(label)}</span></label>`,
  );
  const figures = samples.map(({ label, source }) => sample(source, `${label} title="${label}"`));
  return `<section class="samples" aria-label="Code samples of ${escape(id)}">
<fieldset><legend class="only-heard">Language</legend>${choices.join('')}</fieldset>
${figures.join('')}</section>\n`;
}
