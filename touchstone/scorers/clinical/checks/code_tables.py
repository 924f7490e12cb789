"""Code systems from an operator's own files: releases of RxNorm, LOINC or CVX, or a plain list. None of them ships.

NLM publishes RxNorm's Current Prescribable Content without a licence agreement; LOINC and CVX are free of charge. A code that is missing in a table is
"not a member", so load complete releases.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.code_forms import CODE_LENGTH_MAX
from touchstone.scorers.clinical.checks.scalars import Membership
from touchstone.scorers.clinical.checks.terminology import MembershipSource

#: rxnorm: RXNCONSO.RRF; loinc: LoincTableCore.csv (or Loinc.csv); cvx: CDC's pipe-separated cvx.txt; list: one code a line, # comments.
Layout = Literal["rxnorm", "loinc", "cvx", "list"]
#: RxNorm's own sources; the others of a full release need a UMLS licence.
_RXNORM_SOURCES: Final = frozenset({"RXNORM", "MTHSPL"})
_RXCUI, _SOURCE, _SUPPRESSED = 0, 11, 16


class CodeTables:
    """Membership from tables in memory, code system URL → codes. It is a `MembershipSource`."""

    def __init__(self, tables: Mapping[str, frozenset[str]]) -> None:
        self._tables = dict(tables)

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        """Look up a code; not checked if no table of its system is loaded."""
        codes = self._tables.get(system)
        if codes is None:
            return "not_checked", "no table or server for this code system"
        return ("member" if code in codes else "not_member"), None


class FirstAnswer:
    """Several sources as one: the first that has the code system answers."""

    def __init__(self, *sources: MembershipSource) -> None:
        self._sources = sources

    def membership(self, system: str, code: str) -> tuple[Membership, str | None]:
        """Return the first answer, else the last source's reason."""
        answer: tuple[Membership, str | None] = ("not_checked", "no table or server for this code system")
        for source in self._sources:
            answer = source.membership(system, code)
            if answer[0] != "not_checked":
                break
        return answer


def read_code_table(path: Path, layout: Layout) -> frozenset[str]:
    """Return the codes of a file. Raises `ConfigError` if it cannot be read or has no code of that layout."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            codes = frozenset(code for code in _CODES[layout](lines) if 0 < len(code) <= CODE_LENGTH_MAX)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    except (UnicodeDecodeError, csv.Error):
        raise ConfigError(f"{path}: is not UTF-8 text of the layout {layout}; name the release's own file") from None
    if not codes:
        raise ConfigError(f"{path}: holds no code in the layout {layout}; name the release's own file, or another layout")
    return codes


def _rxnorm(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        fields = line.split("|")
        if len(fields) > _SUPPRESSED and fields[_SOURCE] in _RXNORM_SOURCES and fields[_SUPPRESSED] != "O":
            yield fields[_RXCUI]


def _cvx(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        code, separator, _ = line.partition("|")
        if separator and code.strip().isdigit():
            yield code.strip().zfill(2)


_CODES: Final[Mapping[Layout, Callable[[Iterable[str]], Iterable[str]]]] = {
    "rxnorm": _rxnorm,
    "loinc": lambda lines: (row.get("LOINC_NUM") or "" for row in csv.DictReader(lines)),
    "cvx": _cvx,
    "list": lambda lines: (line.partition("#")[0].strip() for line in lines),
}
