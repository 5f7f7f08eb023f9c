# syntax=docker/dockerfile:1
# The controller as one bundled file beside the Node program and the libraries that it is linked with, and the programs that it renders with:
# kustomize, helm, and prlimit and unshare to bound them. No shell, no package manager.
# It needs no writable file system but --data-dir.
# By digest, so that a rebuild has the same base; renew tag and digest together.
FROM golang:1.26-bookworm@sha256:b305420a68d0f229d91eb3b3ed9e519fcf2cf5461da4bef997bf927e8c0bfd2b AS programs
ENV CGO_ENABLED=0
COPY programs /src
RUN cd /src/kustomize && go build -trimpath -buildvcs=false -ldflags '-s -w' -o /programs/ tool \
 && cd /src/helm && go build -trimpath -buildvcs=false -ldflags '-s -w' -o /programs/ tool

FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build
# /image becomes the root of the final image; ldd names the libraries, whatever the architecture.
RUN mkdir -p /image/app /image/etc /image/tmp \
 && cp --parents -L $(ldd /usr/local/bin/node | grep -o '/[^ ]*') /usr/local/bin/node /image \
 && printf 'hosts: files dns\n' > /image/etc/nsswitch.conf \
 && printf 'holdfast:x:65532:65532::/:/sbin/nologin\n' > /image/etc/passwd \
 && cp dist/main.js dist/THIRD_PARTY_NOTICES.txt dist/sbom.cdx.json LICENSE /image/app/
RUN cp --parents -L $(ldd /usr/bin/prlimit | grep -o '/[^ ]*') /usr/bin/prlimit /image \
 && cp --parents -L $(ldd /usr/bin/unshare | grep -o '/[^ ]*') /usr/bin/unshare /image
COPY --from=programs /programs/ /image/usr/local/bin/

FROM scratch
LABEL org.opencontainers.image.title="holdfast" \
      org.opencontainers.image.description="A GitOps reconciler for progressive delivery that keeps the last-known-good release and returns to it" \
      org.opencontainers.image.licenses="Apache-2.0"
# The allocator keeps an arena of its own for each thread unless it is bounded: a third of the resident memory.
ENV MALLOC_ARENA_MAX=2
ENV NODE_ENV=production PATH=/usr/local/bin:/usr/bin
COPY --from=build --chown=0:0 /image /
WORKDIR /app
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/node", "/app/main.js"]
CMD ["run", "--listen=0.0.0.0:8080", "--data-dir=/data"]
