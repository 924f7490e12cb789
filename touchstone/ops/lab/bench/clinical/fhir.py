"""MB/s of FHIR validation over fhir.resources (pydantic) on the same bytes.

The baseline needs `pip install fhir.resources`; without it only Touchstone's figure is printed. User CPU time of this process is measured over the
resources that the baseline accepts, both in turn, and the best round of each counts, because other work on the machine only makes a round
slower. No document is validated twice: its UUIDs and times of day change each time, so that nothing is gained by values that were seen before.
"""

from __future__ import annotations

import importlib
import json
import re
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from touchstone.ops.lab.bench.processes import run_apart
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.clinical.formats.fhir import Options, is_valid, validate
from touchstone.scorers.process import calm_collector

#: The checks that the baseline has, too: structure, primitives, bindings; Touchstone adds invariants, references, Bundles, narrative, extensions and profiles.
FORMAT_ONLY = Options(clinical=False, marks=False, installed_packages=False)
EVERYTHING = Options(installed_packages=False)
#: Bytes of one round: fewer would be over before the clock has moved enough.
ROUND_BYTES = 4_000_000
_UUID = re.compile(rb"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3})([0-9a-f]{12})")
_TIME = re.compile(rb"(\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?=Z|[+-]\d\d:\d\d)")


def read(paths: list[Path]) -> list[bytes]:
    """Return the bytes of the JSON resources below some paths."""
    files = [file for path in paths for file in (sorted(path.rglob("*.json")) if path.is_dir() else [path])]
    texts = [file.read_bytes() for file in files]
    return [text for text in texts if isinstance(orjson.loads(text).get("resourceType"), str)]


def baseline() -> Callable[[bytes, str], Any] | None:
    """Return the baseline, which is given the type of the resource; None if fhir.resources is not installed."""
    try:
        lookup = importlib.import_module("fhir.resources.R4B").get_fhir_model_class
    except ImportError:
        return None
    models: dict[str, Callable[[bytes], Any]] = {}

    def parse(text: bytes, kind: str) -> Any:
        if kind not in models:
            models[kind] = lookup(kind).model_validate_json
        return models[kind](text)

    return parse


def agreed(act: Callable[[bytes, str], Any], texts: list[bytes]) -> list[bytes]:
    """Return the texts that the baseline accepts: it stops at the first error, so that the others would cost it next to nothing."""
    kept = []
    for text in texts:
        try:
            act(text, orjson.loads(text)["resourceType"])
        except Exception:  # noqa: BLE001 - any error is a refusal
            continue
        kept.append(text)
    return kept


def renewed(text: bytes, number: int) -> bytes:
    """Return a copy with other UUIDs and times of day; what was equal stays equal."""
    mask = (number * 0x9E3779B97F4B) & 0xFFFFFFFFFFFF
    fraction = b".%03d" % (number % 1000)
    text = _UUID.sub(lambda match: match[1] + b"%012x" % (int(match[2], 16) ^ mask), text)
    return _TIME.sub(lambda match: match[1] + fraction, text)


class Workload:
    """Documents with their types, and any number of varied copies of them."""

    def __init__(self, texts: list[bytes]) -> None:
        self.bytes = sum(map(len, texts))
        self._texts = [(text, orjson.loads(text)["resourceType"]) for text in texts]
        self._number = 0

    def take(self, least_bytes: int) -> list[tuple[bytes, str]]:
        """Return copies that were never returned before, with their types; about `least_bytes` in all."""
        taken: list[tuple[bytes, str]] = []
        for _ in range(max(1, round(least_bytes / self.bytes))):
            self._number += 1
            taken += [(renewed(text, self._number), kind) for text, kind in self._texts]
        return taken


def rate(act: Callable[[bytes, str], Any], workload: Workload) -> float:
    """Return MB of JSON per second of user CPU time."""
    documents = workload.take(ROUND_BYTES)
    started = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for text, kind in documents:
        act(text, kind)
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - started
    return sum(len(text) for text, _ in documents) / 1e6 / spent


def measure(texts: list[bytes], rounds: int) -> dict[str, float]:
    """Return the best rate of each contender."""
    contenders: dict[str, Callable[[bytes, str], Any]] = {
        "ours": lambda text, _: validate(text, options=FORMAT_ONLY),
        "ours_with_clinical_checks": lambda text, _: validate(text, options=EVERYTHING),
        "json_only": lambda text, _: orjson.loads(text),
    }
    other = baseline()
    if other is not None:
        texts = agreed(other, texts)
        contenders["fhir.resources"] = other
    workload = Workload(texts)
    for act in contenders.values():
        for text, kind in workload.take(0):
            act(text, kind)
    # First with the default garbage collector, then with the settings of workers: with hundreds of thousands of objects it is a part of the cost.
    best = _best(contenders, workload, rounds)
    calm_collector()
    best |= {f"{name}_calm": figure for name, figure in _best(contenders, workload, rounds).items()}
    best |= {f"{name}_each": figure for name, figure in quietest(contenders, texts, rounds * 4).items()}
    if other is not None:
        best["times_fhir.resources_each"] = best["ours_each"] / best["fhir.resources_each"]
    return {name: round(value, 2) for name, value in best.items()} | {"resources": len(texts), "mb": round(workload.bytes / 1e6, 2)}


def quietest(contenders: dict[str, Callable[[bytes, str], Any]], texts: list[bytes], rounds: int) -> dict[str, float]:
    """Return MB per second of processor time of each contender, where of each document the best of some rounds counts.

    A document takes so little time that other work on the machine rarely interrupts it; the cost of the garbage collector is left out.
    """
    kinds = [orjson.loads(text)["resourceType"] for text in texts]
    least = {name: [float("inf")] * len(texts) for name in contenders}
    for number in range(1, rounds + 1):
        for place, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
            for turn, (name, act) in enumerate(contenders.items()):
                document = renewed(text, number * len(contenders) + turn)
                started = time.process_time()
                act(document, kind)
                least[name][place] = min(least[name][place], time.process_time() - started)
    return {name: sum(map(len, texts)) / 1e6 / sum(spent) for name, spent in least.items()}


def _best(contenders: dict[str, Callable[[bytes, str], Any]], workload: Workload, rounds: int) -> dict[str, float]:
    """Return the best rate of each contender, and Touchstone's over the baseline."""
    best = dict.fromkeys(contenders, 0.0)
    for _ in range(rounds):
        for name, act in contenders.items():
            best[name] = max(best[name], rate(act, workload))
    if "fhir.resources" in best:
        best["times_fhir.resources"] = best["ours"] / best["fhir.resources"]
    return best


def memory(texts: list[bytes], megabytes: int) -> dict[str, float]:
    """Validate one Bundle of a given size, made of the entries of the given ones; return its size, time and peak memory."""
    bundles = [one for text in texts if (one := orjson.loads(text))["resourceType"] == "Bundle"]
    entries = [entry for one in bundles for entry in one.get("entry", [])]
    size = sum(len(orjson.dumps(entry)) for entry in entries)
    times = max(1, round(megabytes * 1e6 / size))
    body = b",".join(orjson.dumps(entry) for _ in range(times) for entry in entries)
    data = b'{"resourceType":"Bundle","type":"collection","entry":[' + body + b"]}"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.process_time()
    report = validate(data, options=EVERYTHING)
    spent = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "bundle_mb": round(len(data) / 1e6, 1),
        "cpu_s": round(spent, 2),
        "peak_mb_before": round(before),
        "peak_mb": round(peak),
        "valid": is_valid(report),
    }


def main(arguments: Sequence[str]) -> None:
    """Print the figures as JSON."""
    parser = Arguments("bench fhir", __doc__)
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE|DIR", help="JSON resources, or folders of them")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", type=int, metavar="MB", help="also validate one Bundle of this size and print the peak memory")
    asked = parser.parse_args(arguments)
    texts = read(asked.paths)
    if not texts:
        parser.error("no resources there; give FHIR R4 resources as JSON")
    found: dict[str, Any] = {"resources": len(texts), "mb": round(sum(map(len, texts)) / 1e6, 2), "mb_per_s": measure(texts, asked.rounds)}
    if asked.memory:
        found["memory"] = run_apart(memory, texts, asked.memory)
    print(json.dumps(found, indent=2))
