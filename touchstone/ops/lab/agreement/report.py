"""The comparison with the official validator, as text for people."""

from typing import Any

from touchstone.scorers.reporting.words import counted, visible

DIFFERENCES_SHOWN_MAX = 20


def as_text(found: dict[str, Any]) -> str:
    """Message by message where the two differ, then the verdicts, then the mutations."""
    lines = [line for one in found["oracle"]["documents"] for line in _document(one)]
    lines += ["", *_verdicts("documents", found["oracle"])]
    if "mutations" in found:
        mutations = found["mutations"]
        lines += ["", *_verdicts(f"mutations (seed {mutations['seed']})", mutations)]
        kinds = ", ".join(f"{kind} {one['agree']}/{one['cases']}" for kind, one in mutations["kinds"].items())
        lines.append(f"  by kind: {kinds}")
        if mutations["unusable"]:
            lines.append(f"  {counted(mutations['unusable'], 'resource')} not mutated, for not both called them valid before")
        lines += [line for one in mutations["disagreements"] for line in _document(one)]
    return "\n".join(visible(line) for line in lines) + "\n"


def _document(one: dict[str, Any]) -> list[str]:
    """A document's verdicts and differences; one line where they say the same of it."""
    same = one["official"] == one["ours"]
    if same and not one["differences"]:
        return [f"{one['name']}: both {one['ours']}"]
    head = f"{one['name']}: both {one['ours']}, told differently" if same else f"{one['name']}: official {one['official']}, ours {one['ours']}"
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


def _verdicts(what: str, one: dict[str, Any]) -> list[str]:
    rate = "–" if one["agreement"] is None else f"{one['agreement']:.2%}"
    different = one["cases"] - one["agree"]
    faults = f"false alarms {one['false_alarms']} of {one['valid']} valid, missed {one['missed']}"
    lines = [f"{what}: same verdict on {one['agree']} of {one['cases']} ({rate}); {faults}"]
    if different:
        classes = ", ".join(f"{name} {count}" for name, count in one["classes"].items()) or "none"
        lines.append(f"  of {different} differences {one['explained']} are of a known class: {classes}")
    if one["undecided"]:
        lines.append(f"  no verdict, for the official validator failed on them: {'; '.join(one['undecided'])}")
    if one["set_aside"]:
        lines.append(f"  set aside: {', '.join(f'{name} (in {count})' for name, count in one['set_aside'].items())}")
    return lines
