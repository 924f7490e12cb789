"""Ask a running official FHIR validator about one resource, and read its OperationOutcome."""

import http.client
from dataclasses import dataclass
from urllib.parse import urlencode

from touchstone.scorers.base import ConfigError
from touchstone.scorers.operation_outcome import NotUnderstoodError, NoVerdict, Outcome, read_operation_outcome

TIMEOUT_S = 120.0
ANSWER_BYTES_MAX = 64 * 1024 * 1024


class OracleLost(ConfigError):
    """The official validator does not answer, or its answer is not an OperationOutcome; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How strict it is to be, in its own terms. The defaults correspond to those of `touchstone.scorers.clinical.formats.fhir.Options`.

    `example_urls`: example.org and the like may appear. `any_extension`: an extension whose definition is not known is accepted.
    """

    example_urls: bool = True
    any_extension: bool = True

    def query(self) -> str:
        """As parameters of its request. It refuses a request that has one it does not know."""
        given = {"allowExampleUrls": str(self.example_urls).lower()} | ({"extension": "any"} if self.any_extension else {})
        return urlencode(given)


class ValidatorClient:
    """One validator, by host and port. It answers one request at a time."""

    def __init__(self, port: int, host: str = "127.0.0.1", *, timeout_s: float = TIMEOUT_S) -> None:
        self.host = host
        self.port = port
        self._timeout_s = timeout_s

    def validate(self, resource: bytes, settings: Settings | None = None) -> Outcome:
        """Its verdict on one resource. Raises `NoVerdict`, `OracleLost`."""
        return read_outcome(self._post(f"/validateResource?{(settings or Settings()).query()}", resource), self._where)

    @property
    def _where(self) -> str:
        return f"the official validator at {self.host}:{self.port}"

    def _post(self, path: str, body: bytes) -> bytes:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self._timeout_s)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/fhir+json", "Accept": "application/fhir+json"})
            answer = connection.getresponse()
            text = answer.read(ANSWER_BYTES_MAX + 1)
        except TimeoutError:
            raise OracleLost(f"{self._where} did not answer within {self._timeout_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise OracleLost(f"{self._where} does not answer ({type(error).__name__}): it has ended, or was never started") from None
        finally:
            connection.close()
        if answer.status == http.client.INTERNAL_SERVER_ERROR and b'"code":"exception"' in text:
            raise NoVerdict(f"{self._where} failed on this resource")
        if answer.status != http.client.OK:
            raise OracleLost(f"{self._where} answered with status {answer.status}")
        if len(text) > ANSWER_BYTES_MAX:
            raise OracleLost(f"{self._where} answered with more than {ANSWER_BYTES_MAX >> 20} MiB")
        return text


def read_outcome(text: bytes, where: str = "the official validator") -> Outcome:
    """Read an OperationOutcome. Raises `OracleLost` for anything else: an answer that is not understood is never a verdict."""
    try:
        return read_operation_outcome(text)
    except NotUnderstoodError as error:
        raise OracleLost(f"{where}: {error.args[0]}") from None
