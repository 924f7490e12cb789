"""Ask a running official FHIR validator about one resource, and read its OperationOutcome."""

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.blocking_client import BlockingHttpClient
from touchstone.scorers.operation_outcome import NotUnderstoodError, NoVerdict, Outcome, read_operation_outcome

TIMEOUT_S = 120.0
ANSWER_BYTES_MAX = 64 * 1024 * 1024


class OracleLost(ConfigError):
    """The official validator does not answer, or its answer is not an OperationOutcome; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Its strictness, in its own terms. The defaults correspond to those of `touchstone.scorers.clinical.formats.fhir.Options`.

    `example_urls`: example.org and the like may appear. `any_extension`: an extension whose definition is not known is accepted.
    """

    example_urls: bool = True
    any_extension: bool = True

    def query(self) -> str:
        """As parameters of its request; it refuses unknown ones."""
        given = {"allowExampleUrls": str(self.example_urls).lower()} | ({"extension": "any"} if self.any_extension else {})
        return urlencode(given)


class ValidatorClient:
    """One validator, by host and port. It answers one request at a time."""

    def __init__(self, port: int, host: str = "127.0.0.1", *, timeout_s: float = TIMEOUT_S) -> None:
        self.host = host
        self.port = port
        self._timeout_s = timeout_s
        headers = {"Content-Type": "application/fhir+json", "Accept": "application/fhir+json"}
        self._client = BlockingHttpClient(f"http://{host}:{port}", headers, timeout_s=timeout_s, bytes_max=ANSWER_BYTES_MAX)

    def validate(self, resource: bytes, settings: Settings | None = None) -> Outcome:
        """Its verdict on one resource. Raises `NoVerdict`, `OracleLost`."""
        return read_outcome(self._post(f"/validateResource?{(settings or Settings()).query()}", resource), self._where)

    @property
    def _where(self) -> str:
        return f"the official validator at {self.host}:{self.port}"

    def _post(self, path: str, body: bytes) -> bytes:
        try:
            answer = self._client.send("POST", path, body)
        except TimeoutError:
            raise OracleLost(f"{self._where} did not answer within {self._timeout_s:g} s") from None
        except ConnectionError as error:
            raise OracleLost(f"{self._where} does not answer ({error}): it has ended, or was never started") from None
        if answer.status == HTTPStatus.INTERNAL_SERVER_ERROR and b'"code":"exception"' in (answer.body or b""):
            raise NoVerdict(f"{self._where} failed on this resource")
        if answer.status != HTTPStatus.OK:
            raise OracleLost(f"{self._where} answered with status {answer.status}")
        if answer.body is None:
            raise OracleLost(f"{self._where} answered with more than {ANSWER_BYTES_MAX >> 20} MiB")
        return answer.body


def read_outcome(text: bytes, where: str = "the official validator") -> Outcome:
    """Read an OperationOutcome. Raises `OracleLost` for anything else: an answer that is not understood is never a verdict."""
    try:
        return read_operation_outcome(text)
    except NotUnderstoodError as error:
        raise OracleLost(f"{where}: {error.args[0]}") from None
