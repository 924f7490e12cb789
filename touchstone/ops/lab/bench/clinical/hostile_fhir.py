"""How long hostile input takes the FHIR validator, and how much memory: each case in a process of its own.

Prints one line of JSON per case: bytes, seconds of processor time, peak memory, the worst findings.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Sequence

from touchstone.ops.lab.bench.processes import run_apart
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.clinical.formats.fhir import Options, is_valid, validate

MEGABYTE = 1_000_000
_PATIENT = '{"resourceType":"Patient","id":"p%d","name":[{"family":"Example","given":["Ada"]}],"gender":"female","birthDate":"1980-02-29"}'
_DIV = '<div xmlns=\\"http://www.w3.org/1999/xhtml\\">%s</div>'


def _bundle(megabytes: int) -> bytes:
    count = megabytes * MEGABYTE // 190
    entries = ",".join(f'{{"fullUrl":"http://server.example/Patient/p{number}","resource":{_PATIENT % number}}}' for number in range(count))
    return f'{{"resourceType":"Bundle","type":"collection","entry":[{entries}]}}'.encode()


def _narrative(inside: str) -> bytes:
    return ('{"resourceType":"Patient","text":{"status":"generated","div":"' + _DIV % inside + '"}}').encode()


def _questionnaire(depth: int) -> bytes:
    opened = '{"linkId":"a","type":"group","item":[' * depth
    return ('{"resourceType":"Questionnaire","status":"draft","item":[' + opened + '{"linkId":"b","type":"group"}' + "]}" * depth + "]}").encode()


def _laughs() -> bytes:
    entities = "".join(f'<!ENTITY a{level} \\"{f"&a{level - 1};" * 10}\\">' for level in range(1, 10))
    return ('{"resourceType":"Patient","text":{"status":"generated","div":"<!DOCTYPE d [<!ENTITY a0 \\"ha\\">' + entities + ']><div>&a9;</div>"}}').encode()


CASES: dict[str, Callable[[], bytes]] = {
    "XML bomb in a narrative": _laughs,
    "narrative of 4 MB of open tags": lambda: _narrative("<p>" * 1_300_000),
    "narrative of 4 MB of bad entities": lambda: _narrative("&a;" * 1_300_000),
    "narrative of 4 MB of one unclosed attribute": lambda: _narrative("<p title='" + "a=" * 2_000_000),
    "Bundle of 50 MB": lambda: _bundle(50),
    "Bundle of 100 MB": lambda: _bundle(100),
    "100 MB of unknown members": lambda: b'{"resourceType":"Patient","name":[' + b",".join(b'{"k%d":1}' % number for number in range(7_000_000)) + b"]}",
    "100 MB of numbers": lambda: b'{"resourceType":"Patient","name":[' + b"1," * 50_000_000 + b"1]}",
    "10,000 deep": lambda: b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "1,000 deep": lambda: _questionnaire(500),
    "1e400": lambda: b'{"resourceType":"Observation","valueQuantity":{"value":1e400}}',
    "NUL bytes": lambda: b'{"resourceType":"Patient","name":[{"family":"a\\u0000b"}]}\x00',
    "lone surrogate": lambda: b'{"resourceType":"Patient","id":"\\ud800"}',
    "half a document": lambda: _bundle(10)[:5_000_000],
    "a field of 10 MB": lambda: b'{"resourceType":"Patient","name":[{"family":"' + b"a b " * 2_500_000 + b'"}]}',
    "10 MB of blanks in a reference": lambda: b'{"resourceType":"Observation","subject":{"reference":"' + b" a" * 5_000_000 + b'"}}',
    "10 MB of base64": lambda: b'{"resourceType":"Binary","contentType":"a/b","data":"' + b"QUJD" * 2_500_000 + b'!"}',
    "1,000,000 duplicate members": lambda: b'{"resourceType":"Patient",' + b'"id":"a",' * 1_000_000 + b'"id":"a"}',
    "XML": lambda: b'<Patient xmlns="http://hl7.org/fhir">' + b"<name/>" * 1_000_000 + b"</Patient>",
}


def measure(name: str) -> dict[str, object]:
    """Validate one case in this process; return its cost."""
    data = CASES[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.process_time()
    report = validate(data, options=Options(installed_packages=False))
    spent = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worst = sorted({finding.code for finding in report.findings if finding.severity in {"critical", "major"}})
    sizes = {"mb": round(len(data) / MEGABYTE, 2), "cpu_s": round(spent, 2), "peak_mb_before": round(before), "peak_mb": round(peak)}
    return {"case": name, **sizes, "valid": is_valid(report), "findings": len(report.findings), "codes": worst[:5]}


def main(arguments: Sequence[str]) -> None:
    """Print a line of JSON per case."""
    parser = Arguments("bench hostile-fhir", __doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all of {', '.join(CASES)}")
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.cases if name not in CASES]:
        parser.error(f"no case {unknown[0]!r}; choose from {', '.join(CASES)}")
    for name in asked.cases or CASES:
        print(json.dumps(run_apart(measure, name)), flush=True)
