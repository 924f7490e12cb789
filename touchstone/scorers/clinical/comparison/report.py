"""The comparison with the official validator, as text for people."""

from typing import Any

DIFFERENCES_SHOWN_MAX = 20


def as_lines(found: dict[str, Any]) -> list[str]:
    """The differences, document by document, then how often the verdicts agree."""
    return [*(line for one in found["documents"] for line in document_lines(one)), "", *verdict_lines("documents", found)]


def document_lines(one: dict[str, Any]) -> list[str]:
    """A document's verdicts and differences: one line if there is no difference. `kind` and `where` name the change of a mutated document."""
    same = one["official"] == one["ours"]
    if same and not one["differences"]:
        return [f"{one['name']}: both {one['ours']}"]
    head = f"{one['name']}: both {one['ours']}, with different messages" if same else f"{one['name']}: official {one['official']}, ours {one['ours']}"
    changed = f" ({one['kind']} at {one['where']})" if "kind" in one else ""
    why = "" if same else f" – {', '.join(one['explained']) or 'unexplained'}"
    shown = [
        f"  {'official' if each['side'] == 'official' else 'ours':9}{each['severity']:12}{each['location'] or '(document)'}  {each['code']}{_text(each)}"
        for each in one["differences"][:DIFFERENCES_SHOWN_MAX]
    ]
    rest = len(one["differences"]) - len(shown)
    return [head + changed + why, *shown, *([f"  and {rest} more; --json lists them"] if rest > 0 else [])]


def _text(difference: dict[str, str]) -> str:
    return f": {difference['text'][:300]}" if "text" in difference else ""


def verdict_lines(what: str, one: dict[str, Any]) -> list[str]:
    """How often the verdicts agree, and why they differ."""
    rate = "–" if one["agreement"] is None else f"{one['agreement']:.2%}"
    different = one["cases"] - one["agree"]
    faults = f"false alarms {one['false_alarms']} of {one['valid']} valid, missed {one['missed']}"
    lines = [f"{what}: same verdict on {one['agree']} of {one['cases']} ({rate}); {faults}"]
    if different:
        classes = ", ".join(f"{name} {count}" for name, count in one["classes"].items()) or "none"
        lines.append(f"  of {different} differences {one['explained']} are of a known class: {classes}")
    if one["undecided"]:
        lines.append(f"  no verdict, because the official validator failed on them: {'; '.join(one['undecided'])}")
    if one["set_aside"]:
        lines.append(f"  set aside: {', '.join(f'{name} (in {count})' for name, count in one['set_aside'].items())}")
    return lines
