# syntax=docker/dockerfile:1
# The controller as one bundled file on an image without shell or package manager. It needs no writable file system but --data-dir.
FROM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

FROM gcr.io/distroless/nodejs24-debian12:nonroot
LABEL org.opencontainers.image.title="holdfast" \
      org.opencontainers.image.description="A GitOps reconciler for progressive delivery that keeps the last-known-good release and returns to it" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
COPY --from=build --chown=0:0 --chmod=0444 /src/dist/main.js /app/main.js
WORKDIR /app
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/nodejs/bin/node", "/app/main.js"]
CMD ["run", "--listen=0.0.0.0:8080", "--data-dir=/data"]
