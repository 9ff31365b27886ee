import type { Config } from '../../../config.js';
import { aboveVersions, type Access, isLaterVersion } from '../../api/index.js';
import { HERE, type Placed } from './placed.js';
import { type Call, type Sample, samplesOf } from './call-samples.js';

/** How to call an operation with its example, ready to paste. */
export function codeSamples(placed: Placed, access: Access, config: Config): Sample[] {
  return samplesOf(describeCall(placed, access, config));
}

function describeCall(placed: Placed, access: Access, config: Config): Call {
  const { path, method, operation } = placed;
  const content = (operation.requestBody as { content?: Record<string, { example?: unknown }> } | undefined)
    ?.content;
  const parameters = (operation.parameters ?? []) as {
    name: string;
    in: string;
    schema?: { example?: string | number };
  }[];
  const examples = new Map(
    parameters.map(({ name, schema }) => [name, encodeURIComponent(schema?.example ?? name)]),
  );
  return {
    method: method.toUpperCase(),
    url: serverOf(placed, config) + path.replace(/\{(\w+)\}/g, (_, name) => examples.get(name)!),
    access,
    body: content?.['application/json']?.example,
  };
}

/** The server that an operation is called at: its own, or this one, above the versions if its path includes one. */
function serverOf({ path, operation }: Placed, { BASE_URL, PORT }: Config): string {
  const own = operation.servers
    ?.map(({ url }) => url)
    .find((url) => URL.canParse(url) && !url.startsWith(HERE));
  const here = BASE_URL ?? `http://localhost:${PORT || 3000}/v1`;
  return own ?? (isLaterVersion(path) ? aboveVersions(here) : here);
}
