# syntax=docker/dockerfile:1
# The controller, bundled, beside the Node program and the libraries that it is linked with, and the programs that it renders with:
# kustomize, helm, and prlimit and unshare to bound them. No shell, no package manager, no demo.
# It needs no writable file system but --data-dir. What can be made on another architecture is made on the builder's own.
# By digest, so that a rebuild has the same base; renew tag and digest together.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm@sha256:b305420a68d0f229d91eb3b3ed9e519fcf2cf5461da4bef997bf927e8c0bfd2b AS programs
ARG TARGETOS
ARG TARGETARCH
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH
COPY programs /src
RUN cd /src/kustomize && go build -trimpath -buildvcs=false -ldflags '-s -w' -o /programs/ tool \
 && cd /src/helm && go build -trimpath -buildvcs=false -ldflags '-s -w' -o /programs/ tool

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS bundle
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS root
COPY --from=bundle /src/scripts/image-root.sh /src/LICENSE /src/
COPY --from=bundle /src/dist /src/dist
RUN sh /src/image-root.sh /image /src
COPY --from=programs /programs/ /image/usr/local/bin/

FROM scratch
LABEL org.opencontainers.image.title="holdfast" \
      org.opencontainers.image.description="A GitOps reconciler for progressive delivery that keeps the last-known-good release and returns to it" \
      org.opencontainers.image.licenses="Apache-2.0"
# The allocator keeps an arena of its own for each thread unless it is bounded: a third of the resident memory.
ENV MALLOC_ARENA_MAX=2
# Half of these threads resolve names at a time, and a name whose server does not answer holds one for seconds.
ENV UV_THREADPOOL_SIZE=32
ENV NODE_ENV=production PATH=/usr/local/bin:/usr/bin
COPY --from=root --chown=0:0 /image /
WORKDIR /app
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/node", "/app/main.js"]
CMD ["run", "--listen=0.0.0.0:8080", "--data-dir=/data"]
