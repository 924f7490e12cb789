"""Clinical documents for tests of the batch command: small, synthetic, written by us."""

import json
import os
from typing import Any

import touchstone.ops.batch.pool
from touchstone.ops.batch.pool import Chunk, Judged

#: What must never be seen outside of a file unless --quote asks for it.
CANARY = "Canarybird"

GOOD_FHIR: dict[str, Any] = {
    "resourceType": "Patient",
    "meta": {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HTEST"}]},
    "gender": "female",
    "birthDate": "1980-02-03",
}
BAD_FHIR: dict[str, Any] = {"resourceType": "Patient", "gender": CANARY, "birthDate": CANARY, "name": [{"family": CANARY}]}
#: A document that was broken off.
CUT_FHIR = '{"resourceType": "Patient", "gender": "fem'
GOOD_HL7V2 = (
    "MSH|^~\\&|APP|FAC|APP|FAC|20240101120000+0000||ADT^A01^ADT_A01|1|P|2.5.1\r"
    "EVN||20240101120000+0000\r"
    "PID|1||1^^^A&1.2.3&ISO^MR||Sample^Jo||19800203|F\r"
    "PV1|1|I\r"
)
BAD_HL7V2 = GOOD_HL7V2.replace("|F\r", f"|{CANARY}\r").replace("19800203", "19801340").replace("EVN", "EVX")
#: A file over which a process of a pool ends, as one that was killed for its memory would.
DEADLY = "deadly"
CCDA = '<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3"><title>x</title></ClinicalDocument>'


def trace(trace_id: str = "t-1", **outputs: Any) -> dict[str, Any]:
    """A production trace. `outputs`: format → content."""
    return {
        "traceId": trace_id,
        "timestamp": "2026-01-02T03:04:05Z",
        "source": "eval",
        "outputs": {form: {"content": content} for form, content in outputs.items()},
    }


def text(document: Any) -> str:
    return json.dumps(document)


def score_or_die(chunk: Chunk) -> Judged:
    """What a process of a pool does with some files, or the end of that process."""
    if any(source.path.read_text() == DEADLY for source in chunk):
        os._exit(9)
    return touchstone.ops.batch.pool._score_here(chunk)
