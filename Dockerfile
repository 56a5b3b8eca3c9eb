# syntax=docker/dockerfile:1
# The binary alone on a small Debian: docker build -t seine .
# The Rust image has what librdkafka is built with (g++, make, pkg-config, libssl-dev); it needs libssl3 to run.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --bin seine && strip -o /seine target/release/seine

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libssl3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin seine \
    && install -d -o seine -g seine /data /config
COPY --from=build /seine /usr/local/bin/seine

USER 10001:10001
WORKDIR /data
# The crawl's folders, and its configuration: -o /data -c /config
VOLUME /data
# Metrics and health must be reached from outside the container.
ENV SEINE__HTTP__HOST=0.0.0.0
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["seine", "health"]
ENTRYPOINT ["seine"]
CMD ["--help"]
