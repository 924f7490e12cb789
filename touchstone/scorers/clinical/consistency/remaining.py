"""What a record has that earlier ones do not have: a fact that FHIR does not have is compared between HL7 v2 and C-CDA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchstone.scorers.clinical.consistency.identifiers import may_be_one_authority
from touchstone.scorers.clinical.consistency.matching import is_about_same, match, match_encounters
from touchstone.scorers.clinical.consistency.record import Group, Item, Kind, Patient, Record


def remaining_patient(patient: Patient, earlier: Sequence[Patient]) -> Patient:
    """The patient without the facts that an earlier record has, which were compared with that one."""
    is_birth_known = any(one.birth is not None or one.age_years is not None for one in earlier)
    return replace(
        patient,
        names=[] if any(one.names for one in earlier) else patient.names,
        identifiers=[mine for mine in patient.identifiers if not any(may_be_one_authority(mine, other) for one in earlier for other in one.identifiers)],
        birth=None if is_birth_known else patient.birth,
        age_years=None if is_birth_known else patient.age_years,
        sex=None if any(one.sex for one in earlier) else patient.sex,
        marital=None if any(one.marital for one in earlier) else patient.marital,
        dead=None if any(one.dead for one in earlier) else patient.dead,
        postal_codes=[] if any(one.postal_codes for one in earlier) else patient.postal_codes,
        phones=[] if any(one.phones for one in earlier) else patient.phones,
    )


def remaining_record(record: Record, earlier: Sequence[Record]) -> Record:
    """The record with only the entries, and the lists, that no earlier record has."""
    known = {item.group for one in earlier for item in one.every()}
    return replace(
        record,
        items={kind: _remaining_items(items, kind, record, earlier) for kind, items in record.items.items()},
        scopes={group: scope for group, scope in record.scopes.items() if group not in known and (scope != "able" or not _could_list(group, earlier))},
        denied={kind: denials for kind, denials in record.denied.items() if not record.items.get(kind) and not _speaks_of(kind, earlier)},
        refused={kind: [item for item in items if not _is_refused_by(item, earlier)] for kind, items in record.refused.items()},
    )


def _could_list(group: Group, earlier: Sequence[Record]) -> bool:
    """True if it was reported of an earlier record that it has nothing of the group."""
    return any(group in one.scopes for one in earlier)


def _speaks_of(kind: Kind, earlier: Sequence[Record]) -> bool:
    return any(one.items.get(kind) or one.denied.get(kind) for one in earlier)


def _is_refused_by(item: Item, earlier: Sequence[Record]) -> bool:
    return any(is_about_same(item, other) for one in earlier for other in one.refused.get(item.kind, ()))


def _remaining_items(items: list[Item], kind: Kind, record: Record, earlier: Sequence[Record]) -> list[Item]:
    for one in earlier:
        known = one.items.get(kind, [])
        if kind == "encounter":
            paired = {id(item) for _, item in match_encounters(known, items)}
            items = [item for item in items if id(item) not in paired]
        elif known:
            items = match(known, items, is_lenient=record.source == "persona").theirs
    return items
