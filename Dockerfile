# Seine alone on a small Debian:  docker build -t seine .
# No BuildKit is needed; without it, the build stage's layers are the cache.

FROM rust:1.95.0-bookworm AS build
# The image brings what librdkafka is built with: g++, make, pkg-config, libssl-dev.
WORKDIR /src

# First the dependencies behind an empty program: this layer, which takes most of the time, is built again only when
# a Cargo.toml or Cargo.lock change. Cargo wants to see a file for every benchmark that a Cargo.toml names.
# As `make build`.
ENV CARGO_PROFILE_RELEASE_LTO=true CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1
COPY Cargo.toml Cargo.lock build.rs ./
COPY .cargo .cargo
COPY crates/delivery/Cargo.toml crates/delivery/
COPY crates/formats/Cargo.toml crates/formats/
COPY crates/frontier/Cargo.toml crates/frontier/
COPY crates/page-log/Cargo.toml crates/page-log/
COPY crates/parse/Cargo.toml crates/parse/
COPY crates/policies/Cargo.toml crates/policies/
COPY crates/simulation-hooks/Cargo.toml crates/simulation-hooks/
COPY crates/system/Cargo.toml crates/system/
RUN for crate in . crates/*; do \
        mkdir $crate/src $crate/benches \
        && touch $crate/src/lib.rs \
        && sed -n "/^\[\[bench\]\]/{n;s|^name = \"\(.*\)\"|$crate/benches/\1.rs|p}" $crate/Cargo.toml | xargs -r touch || exit; \
    done \
    && echo 'fn main() {}' > src/main.rs \
    && cargo build --locked --release --bin seine

# Then Seine itself. What is copied may be older than the empty program, and would be taken for built.
ARG REVISION=unknown
ENV SEINE_COMMIT=$REVISION
COPY crates crates
COPY src src
RUN touch src/lib.rs src/main.rs crates/*/src/lib.rs \
    && cargo build --locked --release --bin seine \
    && strip -o /seine target/release/seine

FROM debian:12.15-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libssl3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin seine \
    && install -d -o seine -g seine /data
COPY LICENSE /usr/share/doc/seine/LICENSE
COPY --from=build /seine /usr/local/bin/seine

USER 10001:10001
# `seine crawl` writes to the folder data below where it runs: /data, a volume that belongs to its user from the start.
WORKDIR /
VOLUME /data
# Metrics and health must be reached from outside the container.
ENV SEINE__HTTP__HOST=0.0.0.0
EXPOSE 8080
# Seine ends by itself within some 15 seconds; `docker stop` must give it longer: docker stop -t 60.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["seine", "health"]
ENTRYPOINT ["seine"]
CMD ["--help"]

ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Seine" \
      org.opencontainers.image.description="A streaming crawl service: pages accepted durably once, delivered at least once" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
