"""Finds the installed extras and tries each in a process of its own.

An installed package may still not work: another package cannot use its version, or a native library does not load. Only a trial shows that.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from touchstone.scorers.base import Check
from touchstone.scorers.engines.encoders import MPNET
from touchstone.scorers.installing import install_command, install_extras

#: After this time an extra is reported as still loading; a cold disk is not a fault.
TRY_TIMEOUT_S = 60.0
_REASON_LENGTH_MAX = 200
#: Missing packages that are named.
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra: its purpose, the packages whose versions are shown, a program that exits with 0 if they work, and how to install it better than with pip."""

    purpose: str
    shown: tuple[str, ...]
    program: str
    install: str | None = None


EXTRAS = {
    "clinical": Extra(
        "units, XML and terminology servers of clinical documents",
        ("ucumvert", "pint", "lxml"),
        "import lxml.etree, ucumvert\nlxml.etree.fromstring(b'<a/>')\nassert ucumvert.PintUcumRegistry().from_ucum('mg/dL').dimensionality",
    ),
    "judge": Extra(
        "judges behind an OpenAI-compatible server, and the self-test",
        ("openai", "aiolimiter", "pyyaml"),
        "import aiolimiter, openai, yaml\nassert yaml.safe_load('a: 1') == {'a': 1}",
    ),
    # The libraries above torch take up to twenty seconds to load, so they are only looked for.
    "nli": Extra(
        "the models of NLI and embedding on GPUs, other models, and training",
        ("torch", "transformers", "sentence-transformers"),
        "import torch\nassert float((torch.ones(2, 2) @ torch.ones(2, 2)).sum()) == 8",
    ),
    "nli-base": Extra(
        "the weights of touchstone-nli-base where there is no model hub",
        (MPNET.parts[0],),
        "from touchstone.scorers.engines.encoders import MPNET\nassert MPNET.find()",
        f"run: {MPNET.install}",
    ),
    "nli-onnx": Extra(
        "the models of NLI and embedding on CPUs",
        ("onnxruntime", "tokenizers", "safetensors"),
        "import numpy, onnxruntime, safetensors, tokenizers\nassert 'CPUExecutionProvider' in onnxruntime.get_available_providers()",
    ),
    "postgres": Extra("PostgreSQL", ("psycopg",), "import psycopg"),
    "summary": Extra(
        "scoring summaries",
        ("rapidfuzz", "pysbd"),
        "import pysbd, rapidfuzz.fuzz\nassert len(pysbd.Segmenter(language='en').segment('One came. Two went.')) == 2\n"
        "assert rapidfuzz.fuzz.ratio('a', 'a') == 100",
    ),
}


def check_extras(extras: dict[str, Extra] | None = None, timeout_s: float = TRY_TIMEOUT_S) -> Iterator[Check]:
    """Every extra. Those that are installed are tried side by side."""
    wanted = EXTRAS if extras is None else extras
    missing = {name: _missing(name, extra) for name, extra in wanted.items()}
    running = {name: _start(extra.program) for name, extra in wanted.items() if not missing[name]}
    for name, extra in wanted.items():
        if name in running:
            yield _tried(name, extra, running[name], timeout_s)
        else:
            yield Check("extras", "note", _absent(name, missing[name]), f"for {extra.purpose}, {extra.install or install_extras(name)}")


def _missing(name: str, extra: Extra) -> list[str]:
    """Packages of an extra that are not installed, by Touchstone's metadata, else by the list of shown packages."""
    marked = re.compile(rf"""^([A-Za-z0-9._-]+).*;.*extra == ['"]{name}['"]""")
    try:
        wanted = [found[1] for found in map(marked.match, requires("touchstone-stream") or []) if found]
    except PackageNotFoundError:
        wanted = []
    return [package for package in wanted or extra.shown if _version(package) is None]


def _absent(name: str, missing: list[str]) -> str:
    more = f" and {len(missing) - _NAMED_MAX} more" if len(missing) > _NAMED_MAX else ""
    return f"extra {name} is not installed ({', '.join(missing[:_NAMED_MAX])}{more} missing)"


def _start(program: str) -> subprocess.Popen[str]:
    """Run a program as an installed command runs: without the working directory on the path."""
    return subprocess.Popen([sys.executable, "-P", "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _tried(name: str, extra: Extra, child: subprocess.Popen[str], timeout_s: float) -> Check:
    """Wait for one trial and report how it ended."""
    versions = ", ".join(f"{package} {_version(package)}" for package in extra.shown)
    with child:
        try:
            _, output = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            child.kill()
            return Check("extras", "note", f"extra {name}: {versions}; still loading after {timeout_s:g} s, so it was not tried", "run doctor again")
    if child.returncode == 0:
        return Check("extras", "good", f"extra {name} works: {versions}")
    lines = output.strip().splitlines()
    # A traceback ends with its reason; a process that was killed leaves none.
    reason = next((line for line in reversed(lines) if re.match(r"[A-Za-z_][\w.]*(:|$)", line)), f"it ended with {child.returncode}")
    return Check("extras", "bad", f"extra {name}: {versions} do not work: {reason[:_REASON_LENGTH_MAX]}", f"install it again: {install_command([name])}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
