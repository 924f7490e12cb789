"""The official validator as the oracle: one process of it, and a client."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from touchstone.ops.local.fhir_validator.artifacts import distribution
from touchstone.ops.local.fhir_validator.client import TIMEOUT_S, ValidatorClient
from touchstone.ops.local.fhir_validator.packages import found_packages
from touchstone.ops.local.fhir_validator.process import HOST, START_TIMEOUT_S, ValidatorProcess, launch_of


class FhirValidator(ValidatorProcess):
    """A validator that ends with this program. `packages`: folders that are asked first for FHIR's packages."""

    def __init__(
        self,
        *,
        packages: Sequence[Path] = (),
        port: int = 0,
        start_timeout_s: float = START_TIMEOUT_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        super().__init__(self._real, port=port, start_timeout_s=start_timeout_s)
        self._packages = packages
        self._timeout_s = timeout_s

    @property
    def client(self) -> ValidatorClient:
        """A client of it."""
        return ValidatorClient(self.port, HOST, timeout_s=self._timeout_s)

    def start(self) -> ValidatorClient:
        """Fetch what is missing, start it (5 to 10 s) and wait until it serves. Raises `ConfigError`, and then leaves nothing running."""
        self.begin()
        return self.client

    def _real(self, home: Path, port: int) -> list[str]:
        return launch_of(distribution(), found_packages(self._packages), {})(home, port)

    def __enter__(self) -> ValidatorClient:
        """Start."""
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop."""
        self.stop()
