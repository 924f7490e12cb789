import re
import shutil
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from touchstone.scorers.clinical.samples import TRACES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "".join((DOCS / name).read_text("utf-8") for name in ("eval-validate.md", "eval-validate-reports.md"))
SEGMENTS = (
    "MSH|^~\\&|LAB|HOSP|EHR|CLINIC|20260115103000+0000||ORU^R01^ORU_R01|MSG00001|P|2.5.1",
    "PID|1||12345||Doe^Jane||19801332|F",
    "OBR|1||L1|24323-8^Panel^LN|||20260115100000+0000|||||||||||||||20260115100000+0000|||F",
    "OBX|1|NM|2345-7^Glucose^LN||650|mg/dL|70-110|HH|||F|||20260115100000+0000",
    "OBX|2|NM|8480-6^Systolic^LN||110|mmHg|||||F|||20260115100000+0000",
)
#: How long a run took is another number every time, and so are its moment and the name of a configuration with other libraries.
SECONDS = re.compile(r"(Duration: |, )\d+\.\d ?s|(?<=generated )\S+Z|(?<=configuration )[0-9a-f]{16}")


@pytest.fixture
def run(commands: Commands) -> Commands:
    Path("oru.hl7").write_text("\r".join(SEGMENTS) + "\r", encoding="utf-8")
    Path("patient.json").write_text('{"resourceType": "Patient", "gender": "X", "birthDate": "1980-02-30"}', encoding="utf-8")
    shutil.copy(TRACES / "sample-asthma.json", "trace.json")
    return commands


def shown(command: str) -> list[str]:
    _, _, rest = PAGES.partition(f"$ {command}\n")
    return SECONDS.sub("", rest.partition("```")[0]).splitlines()


@pytest.mark.parametrize(
    "command",
    [
        "touchstone eval validate oru.hl7",
        "touchstone eval validate patient.json --format json",
        "touchstone eval validate oru.hl7 --verbose | head -30",
        "touchstone eval validate patient.json oru.hl7 trace.json nope.json --format markdown",
    ],
)
def test_an_example_of_the_pages_is_what_the_command_prints(run: Commands, command: str) -> None:
    ran = run(*command.partition(" | ")[0].split()[1:])
    printed = SECONDS.sub("", ran.out).splitlines()
    wanted = shown(command)
    if "…" in wanted:  # the rest of the report is left out
        cut = wanted.index("…")
        printed[cut:] = ["…"]
    if "head -30" in command:
        assert printed[:30] == wanted
    else:
        # The page shows standard error below, where it shows it.
        assert [line for line in wanted if line not in ran.err.splitlines()] == printed
