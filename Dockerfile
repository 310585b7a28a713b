# An image with the agent, a shell and the usual programs for jobs. "make image" builds it;
# example/docker/alone.yaml says how to start it.
#
# The agent collects orphans itself; no other init is needed. It runs as root, so that
# jobs can have a user. Where none of them has one, better build it with
#
#     make image IMAGEFLAGS="--build-arg USER=nobody"
#
FROM debian:stable-slim

RUN apt-get update \
	&& apt-get install -y --no-install-recommends ca-certificates tzdata \
	&& rm -rf /var/lib/apt/lists/* \
	&& mkdir -p /etc/yacron2.d /var/lib/yacron2 \
	&& chown nobody: /var/lib/yacron2

COPY bin/yacron2 /usr/local/bin/yacron2

ARG USER=root
USER ${USER}

# Needs the API at its usual place. If it is elsewhere, or wants a token, set
# YACRON2_HTTP_ADDR or YACRON2_HTTP_TOKEN; without an API, run it with --no-healthcheck.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["yacron2", "job", "list"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["yacron2"]
CMD ["agent", "-config-dir", "/etc/yacron2.d"]
