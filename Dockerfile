FROM docker.io/library/node:26.10.0-trixie-slim AS base
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM base AS build
# No install script is needed: the image has Node, and the embedded PostgreSQL stays out.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=optional --ignore-scripts
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY schematics schematics
COPY examples examples
COPY src src
COPY docs/guides docs/guides
# Any user can read the build, whatever the umask of the sources. Source maps and types are not used at run time.
RUN npm run build && find dist '(' -name '*.map' -o -name '*.d.ts' ')' -delete \
  && rm -r dist/schematics dist/examples && chmod -R a+rX dist package.json

FROM base AS dependencies
# The image has Node, and needs no package that brings it. Without types and source maps, packages have half the bytes.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional --ignore-scripts \
  && find node_modules -type f '(' -name '*.map' -o -name '*.[cm]ts' -o -name '*.ts' ')' -delete

FROM docker.io/library/node:26.10.0-trixie-slim
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Pet store" \
  org.opencontainers.image.description="Pet store API over PostgreSQL" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.base.name="docker.io/library/node:26.10.0-trixie-slim"
# As `npm start`: one malloc arena for all threads.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/package.json ./
# The image's user `node`, by number, so that Kubernetes can see that it is not root; any other will do.
# None can write anything here.
USER 1000:1000
EXPOSE 3000
# Without --start-interval, which many a Buildah and Docker in use refuses.
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without an init: the service handles SIGTERM itself, and starts no process that could be orphaned.
ENTRYPOINT ["node"]
CMD ["dist/src/main.js"]
