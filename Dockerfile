# One image for every service: `docker run openbrain run ingest`, `docker run openbrain db upgrade`.
# --build-arg LOCK=requirements-server.lock leaves out what only `openbrain up` needs: the embedded engines.
# --build-arg BASE=python:3.12-slim-bookworm@sha256:… holds the base to what was looked at.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS tools
# Where pip has to be told of a certificate bundle or another index, the builder says so; neither stays in the image.
ARG PIP_CERT
ARG PIP_INDEX_URL
WORKDIR /src
# The installer and the build tool have an environment of their own: what is shipped never held them.
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/openbrain
COPY requirements-build.lock ./
RUN /opt/build/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes \
      -r requirements-build.lock

FROM tools AS release
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY shared shared
COPY services services
COPY cli cli
RUN (cd shared && /opt/build/bin/python -m hatchling build -t wheel -d /wheel) \
 && /opt/build/bin/python -m hatchling build -t wheel -d /wheel \
 && /opt/build/bin/python -m pip --python /opt/openbrain/bin/python install --no-cache-dir \
      --disable-pip-version-check --no-deps --prefix /opt/release /wheel/*.whl

FROM tools AS dependencies
ARG PIP_CERT
ARG PIP_INDEX_URL
# pip's settings, as uv spells them.
ARG SSL_CERT_FILE=${PIP_CERT}
ARG UV_DEFAULT_INDEX=${PIP_INDEX_URL}
# What both images hold is a layer that is made once for the two.
COPY requirements-server.lock ./
RUN /opt/build/bin/uv pip install --quiet --no-cache --compile-bytecode --python /opt/openbrain/bin/python \
      --require-hashes -r requirements-server.lock
# Compiling the rules for secrets takes seconds: once here, instead of at the first write of every container.
RUN KF_RULE_CACHE_DIR=/opt/rules /opt/openbrain/bin/python -c "import kingfisher_sdk as k; k.Rules(confidence='medium')" \
 && chmod -R a-w /opt/rules
ARG LOCK=requirements.lock
COPY ${LOCK} ./
RUN /opt/build/bin/uv pip install --quiet --no-cache --compile-bytecode --python /opt/openbrain/bin/python \
      --require-hashes -r ${LOCK} \
 && rm /opt/openbrain/.lock

FROM ${BASE}
LABEL org.opencontainers.image.title="OpenBrain" org.opencontainers.image.licenses="Apache-2.0"
# /data is only used by `openbrain up`, which keeps everything embedded there; /vault is where a vault is mounted.
# The base's own pip has no use here.
RUN install -d -o 10001 -g 10001 /data /vault \
 && install -d -m 0555 -o 10001 -g 10001 /opt/rules \
 && rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/site-packages/pip* \
      /usr/local/lib/python3*/ensurepip /usr/lib/python3*/ensurepip
# What a release rarely changes, then its own few megabytes.
COPY --from=dependencies /opt/openbrain /opt/openbrain
COPY --from=release /opt/release /opt/openbrain
# The rules are taken from whoever runs alone.
COPY --from=dependencies --chown=10001:10001 /opt/rules /opt/rules
ENV PATH=/opt/openbrain/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    KF_RULE_CACHE_DIR=/opt/rules \
    OPENBRAIN_DATA_DIR=/data \
    OPENBRAIN_SERVER__HOST=0.0.0.0 \
    OPENBRAIN_SERVER__PORT=8788
USER 10001:10001
EXPOSE 8788
ENTRYPOINT ["openbrain"]
CMD ["--help"]
