"""FHIR validation speed: MB/s of ours, everything on, over fhir.resources (pydantic) on the same bytes.

`python -m ops.bench.fhir FILE|DIR… [--rounds N] [--memory MB]`. The baseline is a development dependency: `pip install fhir.resources`; where it is
absent only our own figure is printed. CPU time of this process is measured, alternating the two, and the best round of each counts: other
work on the machine only ever makes a round slower. `--memory MB` validates one Bundle of that size and tells the peak.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from scorers.clinical.formats.fhir import Options, is_valid, validate

#: What the baseline does too: structure, primitives, bindings; ours adds invariants, references, Bundles, narrative, extensions and profiles.
FORMAT_ONLY = Options(clinical=False, marks=False, installed_packages=False)
EVERYTHING = Options(installed_packages=False)


def read(paths: list[Path]) -> list[bytes]:
    """Return the bytes of the JSON Bundles below some paths."""
    files = [file for path in paths for file in (sorted(path.rglob("*.json")) if path.is_dir() else [path])]
    texts = [file.read_bytes() for file in files]
    return [text for text in texts if orjson.loads(text).get("resourceType") == "Bundle"]


def baseline() -> Callable[[bytes], Any] | None:
    """Return the baseline, or None where fhir.resources is not installed."""
    try:
        bundle = importlib.import_module("fhir.resources.R4B.bundle")
    except ImportError:
        return None
    parse: Callable[[bytes], Any] = bundle.Bundle.model_validate_json
    return parse


def rate(act: Callable[[bytes], Any], texts: list[bytes]) -> float:
    """Return MB of JSON per second of CPU time."""
    started = time.process_time()
    for text in texts:
        act(text)
    return sum(map(len, texts)) / 1e6 / (time.process_time() - started)


def measure(texts: list[bytes], rounds: int) -> dict[str, float]:
    """Return the best rate of each contender."""
    contenders: dict[str, Callable[[bytes], Any]] = {
        "ours": lambda text: validate(text, options=FORMAT_ONLY),
        "ours_with_clinical_checks": lambda text: validate(text, options=EVERYTHING),
        "json_only": orjson.loads,
    }
    other = baseline()
    if other is not None:
        contenders["fhir.resources"] = other
    for act in contenders.values():
        act(texts[0])
    best = dict.fromkeys(contenders, 0.0)
    for _ in range(rounds):
        for name, act in contenders.items():
            best[name] = max(best[name], rate(act, texts))
    if other is not None:
        best["times_fhir.resources"] = best["ours"] / best["fhir.resources"]
    return {name: round(value, 2) for name, value in best.items()}


def memory(texts: list[bytes], megabytes: int) -> dict[str, float]:
    """Validate one Bundle of a given size, made of the entries of the given ones; return its size, time and peak memory."""
    entries = [entry for text in texts for entry in orjson.loads(text)["entry"]]
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


def main(arguments: list[str] | None = None) -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m ops.bench.fhir", description="FHIR validation speed over fhir.resources.")
    parser.add_argument("paths", type=Path, nargs="+", help="JSON Bundles, or folders that hold some")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", type=int, metavar="MB", help="also validate one Bundle of this size and tell the peak memory")
    parser.add_argument("--memory-only", action="store_true", help="leave the speed out, so that the baseline's memory does not count")
    options = parser.parse_args(arguments)
    texts = read(options.paths)
    if not texts:
        parser.error("no Bundles there; give FHIR R4 Bundles as JSON")
    found: dict[str, Any] = {"bundles": len(texts), "mb": round(sum(map(len, texts)) / 1e6, 2)}
    if not options.memory_only:
        found["mb_per_s"] = measure(texts, options.rounds)
    if options.memory:
        found["memory"] = memory(texts, options.memory)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
