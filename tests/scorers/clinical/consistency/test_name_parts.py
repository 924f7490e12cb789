"""Parts of C-CDA names that a qualifier sets aside: only where another part is left."""

from typing import Any

import pytest

from tests.scorers.clinical.consistency.patient import CCDA, PERSONA, compared, fhir, told

NAME = '<name use="L"><given>Zoe</given><family>Sample Ortega</family></name>'
FAMILY = "<family>Sample Ortega</family>"


def with_names(text: str) -> str:
    assert CCDA.count(NAME) == 1
    return CCDA.replace(NAME, text)


@pytest.mark.parametrize("documents", [(("fhir", fhir()),), ()], ids=["fhir", "persona-alone"])
@pytest.mark.parametrize(
    ("names", "is_other"),
    [
        (f'<name use="L"><given qualifier="CL">Zoe</given>{FAMILY}</name>', False),
        (f'<name use="L"><given>Zoe</given><given qualifier="CL">Bunny</given>{FAMILY}</name>', False),
        (f'<name use="L"><given>Zoe</given><given qualifier="BR CL">Ada</given>{FAMILY}</name>', False),
        (f'<name use="L"><given/><given qualifier="CL">Zoe</given>{FAMILY}</name>', False),
        (f'{NAME}<name><given qualifier="CL">Bunny</given>{FAMILY}</name>', False),
        ('<name use="L"><given>Zoe</given><family qualifier="BR">Miller</family><family qualifier="SP">Sample Ortega</family></name>', False),
        (f'<name use="OR"><prefix>Dr</prefix><given>Zoe</given>{FAMILY}</name><name use="P"><given>Luna</given><family>Star</family></name>', False),
        (f'<name use="L"><given qualifier="CL">Harriet</given>{FAMILY}</name>', True),
        (f'<name use="L"><given qualifier="BR">Harriet</given>{FAMILY}</name>', True),
        (f'<name use="L"><given/><given qualifier="CL">Harriet</given>{FAMILY}</name>', True),
        (f'<name use="L"><given>Harriet</given><given qualifier="CL">Zoe</given>{FAMILY}</name>', True),
        ('<name use="L"><given>Zoe</given><family qualifier="SP">Miller</family></name>', True),
        ('<name use="L"><given>Zoe</given><family qualifier="BR">Miller</family></name>', True),
        (f'<name use="OR"><given>Harriet</given>{FAMILY}</name>', True),
    ],
)
def test_a_qualified_part_of_a_name_counts_where_it_is_the_only_one(names: str, is_other: bool, documents: tuple[tuple[str, Any], ...]) -> None:
    report = compared(*documents, ("ccda", with_names(names)), persona={"name": PERSONA["name"]})

    assert any(code == "consistency.patient.name" for _, code, _ in told(report)) == is_other
