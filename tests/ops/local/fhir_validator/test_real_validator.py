"""The official validator, started for real, offline; and how far ours agrees with it."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.official_validator import packages
from tests.ops.local.fhir_validator.served import is_refused, served
from touchstone.ops.lab.agreement.oracle import mutated
from touchstone.ops.local.fhir_validator.artifacts import distribution
from touchstone.ops.local.fhir_validator.client import OracleLost, Settings, ValidatorClient
from touchstone.ops.local.fhir_validator.documents import fhir_documents
from touchstone.ops.local.fhir_validator.packages import found_packages
from touchstone.ops.local.fhir_validator.process import ValidatorProcess, launch_of
from touchstone.ops.local.fhir_validator.server import FhirValidator
from touchstone.ops.local.kafka.processes import is_running, wait_until
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.comparison.verdicts import compared
from touchstone.scorers.operation_outcome import Issue, Outcome

pytestmark = pytest.mark.slow(7)
SAMPLES = Path(__file__).parents[4] / "scorers" / "clinical" / "samples" / "traces"


def resource(**members: object) -> bytes:
    return json.dumps({"resourceType": "Patient", **members}).encode()


def told_always(outcome: Outcome) -> tuple[bool, list[Issue]]:
    """The verdict, and its issues but for a warning that the validator gives for a terminology server that is off, or not, by what it was asked before."""
    return outcome.valid, [issue for issue in outcome.issues if issue.code != "Terminology_TX_Error_CodeableConcept"]


def test_it_tells_valid_from_invalid(official_validator: ValidatorClient) -> None:
    assert official_validator.validate(resource(gender="female")).valid
    said = official_validator.validate(resource(gender="woman"))
    assert {one.location for one in said.errors} == {"Patient.gender"}


def test_what_is_no_json_is_invalid(official_validator: ValidatorClient) -> None:
    assert [one.severity for one in official_validator.validate(b'{"resourceType":"Pat').errors] == ["fatal"]


def test_the_settings_are_understood(official_validator: ValidatorClient) -> None:
    extended = resource(extension=[{"url": "http://fhir.invalid/unknown", "valueString": "x"}])
    assert official_validator.validate(extended).valid
    assert not official_validator.validate(extended, Settings(any_extension=False)).valid


def test_verdicts_on_our_samples_and_their_mutations_agree(official_validator: ValidatorClient) -> None:
    found = fhir_documents([SAMPLES])
    assert compared(found, official_validator.validate)["agreement"] >= 0.8
    changed = mutated(found, official_validator.validate, 84, 7)
    assert changed["cases"] >= 80
    assert changed["agreement"] >= 0.93, changed["disagreements"]


@pytest.mark.slow(60)
async def test_the_service_gives_the_same_verdicts_and_outlives_a_validator_that_is_killed_in_the_middle(official_validator: ValidatorClient) -> None:
    broken = [b"", b"[]", b'{"resourceType":"Pat', resource(gender="woman"), resource(name=[None])]
    texts = [*(document.content for document in fhir_documents([SAMPLES])), *broken]
    launch = launch_of(distribution(), found_packages(packages()), {})
    async with served(lambda: ValidatorProcess(launch, start_timeout_s=300)) as service:
        through = ValidatorClient(service.client.base_url.port or 0)
        for text in texts:
            assert told_always(await asyncio.to_thread(through.validate, text)) == told_always(official_validator.validate(text))
        [seat] = service.pool.seats
        entries = [
            {"fullUrl": f"urn:uuid:{number:08}-0000-4000-8000-000000000000", "resource": json.loads(resource(gender="woman"))} for number in range(5_000)
        ]
        long = asyncio.create_task(service.post(json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries})))
        await service.until(lambda: seat.state == "busy")
        assert seat.process is not None
        seat.process.kill()
        assert is_refused(await long, 502, "died")
        await service.until_ready()
        assert told_always(await asyncio.to_thread(through.validate, broken[3])) == told_always(official_validator.validate(broken[3]))


def test_it_ends_with_the_program_that_started_it_and_is_then_lost(official_validator: ValidatorClient, tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        from touchstone.ops.local.fhir_validator.server import FhirValidator
        server = FhirValidator(packages=[Path(each) for each in sys.argv[1:]])
        server.start()
        print(server.pid, server.port, flush=True)
        sys.stdin.read()
    """)
    environment = os.environ | {"TMPDIR": str(tmp_path)}  # a program that is killed cannot tidy up
    command = [sys.executable, "-c", script, *map(str, packages())]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert owner.stdout is not None
    pid, port = map(int, owner.stdout.readline().split())
    assert is_running(pid, "Serve.java")
    owner.kill()
    owner.communicate()
    assert wait_until(lambda: not is_running(pid, "Serve.java"), 10)
    with pytest.raises(OracleLost, match="does not answer"):
        ValidatorClient(port).validate(resource())


def test_one_that_is_not_ready_in_time_is_ended(official_validator: ValidatorClient) -> None:
    server = FhirValidator(packages=packages(), start_timeout_s=0.2)
    with pytest.raises(ConfigError, match=r"is not ready after 0\.2 s"):
        server.start()
    assert server.pid == 0
    assert server.port != official_validator.port


def test_a_taken_port_is_told(official_validator: ValidatorClient) -> None:
    with pytest.raises(ConfigError, match=rf"port {official_validator.port} is taken"):
        FhirValidator(packages=packages(), port=official_validator.port).start()
