# One image for every room: `docker run openbrain run ingest`, `docker run openbrain db upgrade`.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
# Where pip has to be told of a certificate bundle or another index, the builder says so; neither stays in the image.
ARG PIP_CERT
ARG PIP_INDEX_URL
WORKDIR /src
RUN python3 -m venv /opt/openbrain
COPY requirements.lock requirements-build.lock ./
RUN /opt/openbrain/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes \
      -r requirements.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY shared shared
COPY services services
COPY cli cli
RUN python3 -m venv /opt/build \
 && /opt/build/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes \
      -r requirements-build.lock \
 && /opt/build/bin/python -m hatchling build -t wheel -d /wheel \
 && /opt/openbrain/bin/python -m pip install --no-cache-dir --disable-pip-version-check --no-deps /wheel/*.whl \
 && /opt/openbrain/bin/python -m pip uninstall --yes pip

FROM ${BASE}
LABEL org.opencontainers.image.title="OpenBrain" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/openbrain /opt/openbrain
# /data is only used by `openbrain up`, which keeps everything embedded there.
RUN install -d -o 10001 -g 10001 /data
ENV PATH=/opt/openbrain/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    OPENBRAIN_DATA_DIR=/data \
    OPENBRAIN_SERVER__HOST=0.0.0.0 \
    OPENBRAIN_SERVER__PORT=8788
USER 10001:10001
EXPOSE 8788
ENTRYPOINT ["openbrain"]
CMD ["--help"]
