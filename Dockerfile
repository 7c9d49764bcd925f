# The runtime in a container. Build and run: docs/operations.md, which also says what a sandbox in a
# container needs of the host, and what it does not hold there.

FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
# By the lock file's integrity; no script of a package runs.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY tools tools
COPY src src
COPY clients clients
COPY docs docs
COPY ARCHITECTURE.md CHANGELOG.md LICENSE README.md SECURITY.md ./
RUN node --disable-warning=ExperimentalWarning tools/build.ts \
 && npm pack --ignore-scripts --pack-destination /tmp \
 && mv /tmp/terminal-runtime-layer-*.tgz /tmp/trl.tgz

FROM node:24-bookworm-slim AS run
# Whose files the workspace has: --build-arg UID="$(id -u)".
ARG UID=10001
# bubblewrap: the sandbox. perl: idmapped mounts. git: what a session sees of a repository.
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git perl-base python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /tmp/trl.tgz /tmp/trl.tgz
RUN npm install --global --ignore-scripts --no-audit --no-fund /tmp/trl.tgz \
 && rm -rf /tmp/trl.tgz /root/.npm \
 && userdel --remove node \
 && useradd --create-home --user-group --uid "$UID" trl \
 && install -d -o trl -g trl -m 0700 /run/trl /home/trl/.local /home/trl/.local/state \
 && install -d -o trl -g trl /workspace
# By number: who forbids root in containers cannot tell by a name.
USER $UID
ENV XDG_RUNTIME_DIR=/run/trl
WORKDIR /workspace
VOLUME ["/workspace", "/home/trl/.local/state"]
# The daemon takes the place of the launcher, so it gets SIGTERM itself. Run it with --init, which
# waits for what ended processes leave behind.
STOPSIGNAL SIGTERM
ENTRYPOINT ["trl"]
CMD ["serve", "--workspace-root", "/workspace"]
HEALTHCHECK --interval=30s --timeout=10s CMD ["trl", "daemon", "status"]
