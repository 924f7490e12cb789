import json
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from tests.scorers.clinical.conformance.fake_services import CCDA, FINE, PATIENT, FakeService, Reply, in_a_thread, issue, outcome


@pytest.mark.parametrize(("reply", "code"), [(FINE, 0), (outcome(issue("error", "UNKNOWN_CODESYSTEM")), 0), (outcome(issue("error", "SOMETHING_NEW")), 1)])
def test_a_c_cda_file_beside_fhir_without_onc_s_url_leaves_the_exit_code_to_the_rest(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, reply: Reply, code: int
) -> None:
    Path("files").mkdir()
    Path("files", "patient.json").write_text(json.dumps(PATIENT))
    Path("files", "ccd.xml").write_text(CCDA)
    with in_a_thread(FakeService([reply])) as fake:
        monkeypatch.setenv("CONFORMANCE_FHIR_URL", fake.url)
        ran = commands("score", "clinical_conformance", "files")
    assert ran.code == code, ran.out + ran.err
