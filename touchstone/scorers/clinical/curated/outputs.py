"""Outputs of an invented generator for every curated case, to try evaluation runs: some good, some with faults."""

from pathlib import Path
from typing import Final

#: `<case id>/{persona.json,fhir.json,hl7v2.txt,ccda.xml}`, and `about.json` with the moment at which they were made.
SAMPLE_OUTPUTS: Final = Path(__file__).parent / "outputs"
