/** Makes servers at one address one choice: Swagger UI knows a server by its address, and would spring back to the first. */
export const servers = {
  statePlugins: {
    spec: {
      wrapSelectors: {
        servers:
          (original) =>
          (...args) =>
            original(...args)
              .groupBy((server) => server.get('url'))
              .valueSeq()
              .map((same) => same.first().set('description', namesOf(same)))
              .toList(),
      },
    },
  },
};

/** `Production (this server)` and `Staging (this server)` are `Production and Staging (this server)`. */
function namesOf(same) {
  const names = same.map((server) => server.get('description') ?? '');
  const [, end] = / (\([^)]*\))$/.exec(names.first()) ?? [];
  if (!end || !names.every((name) => name.endsWith(` ${end}`))) return names.join(' and ');
  return `${names.map((name) => name.slice(0, -end.length - 1)).join(' and ')} ${end}`;
}
