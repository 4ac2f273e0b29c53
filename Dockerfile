# One small image with one program. Everything else is an option of it.
#
#   docker build -t switchyard .
#   docker run --rm -p 3000:3000 switchyard
#   docker run --rm -p 3000:3000 -v "$PWD:/data:ro" switchyard

FROM rust:1.95-slim-bookworm AS build
# `ci` is quick to build, `release` quick to run.
ARG CARGO_PROFILE=release
WORKDIR /source
COPY . .
RUN cargo build --locked --package switchyard --profile "$CARGO_PROFILE" \
 && cp "target/$CARGO_PROFILE/switchyard" /switchyard \
 && rm -rf target

FROM debian:bookworm-slim
# Whom to trust when a tool asks an https address.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /switchyard /usr/local/bin/switchyard
COPY deploy/sample /data
USER 10001:10001
WORKDIR /data
# 3000: clients, 3100: the bus of a cluster, 9090: health and metrics.
EXPOSE 3000 3100 9090
# A running call may take as long as the drain; then the program ends by itself.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=15s --retries=3 CMD ["switchyard", "health"]
ENTRYPOINT ["switchyard"]
CMD ["serve", "--host", "0.0.0.0"]
