"""Real servers that speak S3, as processes: moto's, which is always there, and versitygw, where it is installed.

versitygw keeps objects as files, so it can be killed and started again on the same data. It is one binary (`go install
github.com/versity/versitygw/cmd/versitygw@latest`), on PATH or named by the variable VERSITYGW.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from touchstone.ops.lab.chaos.object_stores import S3Server
from touchstone.scorers.base import ConfigError

KINDS = ("moto", "versitygw")


@contextmanager
def running(kind: str, folder: Path) -> Iterator[S3Server]:
    """A server of a kind. Skips where it is not installed."""
    try:
        server = S3Server.moto(folder) if kind == "moto" else S3Server.versitygw(folder)
    except ConfigError as error:
        pytest.skip(str(error))
    server.start()
    try:
        yield server
    finally:
        server.close()


def lead_to(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server is and how it is opened is in the environment, as in production."""
    for name, value in server.environment.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)


def new_bucket(server: S3Server) -> str:
    """The name of a bucket that is new and empty."""
    import boto3

    name = f"b-{uuid.uuid4().hex[:12]}"
    environment = server.environment
    keys = {"aws_access_key_id": environment["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": environment["AWS_SECRET_ACCESS_KEY"]}
    boto3.client("s3", endpoint_url=server.url, region_name=environment["AWS_REGION"], **keys).create_bucket(Bucket=name)
    return name
