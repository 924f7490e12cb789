"""Touchstone's FHIR validator beside the official one, on seeded mutations of documents."""

from collections.abc import Callable, Sequence
from typing import Any

from touchstone.ops.lab.agreement.mutations import KINDS, mutants, resources_of
from touchstone.scorers.clinical.comparison.report import as_lines, document_lines, verdict_lines
from touchstone.scorers.clinical.comparison.verdicts import Count, Official, compare
from touchstone.scorers.operation_outcome import NoVerdict
from touchstone.scorers.reporting.words import counted, visible


def mutated(
    documents: Sequence[tuple[str, bytes]], official: Official, number: int, seed: int, *, quote: bool = False, step: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """Both verdicts on `number` seeded mutations, as JSON types.

    Only resources that both validators call valid are changed: a resource that was invalid before says nothing about the change.
    `unusable` counts the others.
    """
    both_valid: dict[str, bool] = {}

    def usable(name: str, resource: bytes) -> bool:
        if name not in both_valid:
            try:
                one = compare(name, resource, official)
            except NoVerdict:
                both_valid[name] = False
            else:
                both_valid[name] = one.official and one.ours
        return both_valid[name]

    count, kinds = Count(), {kind: Count() for kind in KINDS}
    disagreements: list[dict[str, Any]] = []
    pool = [pair for name, document in documents for pair in resources_of(name, document)]
    for mutant in mutants(pool, number, seed, usable):
        try:
            one = compare(mutant.source, mutant.resource, official)
        except NoVerdict:
            count.undecided.append(f"{mutant.source} ({mutant.kind} at {mutant.where})")
            continue
        count.add(one)
        kinds[mutant.kind].add(one)
        if not one.agree:
            disagreements.append({"kind": mutant.kind, "where": mutant.where} | one.as_json(quote=quote))
        step(count.cases)
    return (
        {"seed": seed, "unusable": sum(not valid for valid in both_valid.values())}
        | count.as_json()
        | {"kinds": {kind: {"cases": one.cases, "agree": one.agree} for kind, one in kinds.items()}, "disagreements": disagreements}
    )


def as_text(found: dict[str, Any]) -> str:
    """The comparison of the documents, then of their mutations."""
    lines = as_lines(found["oracle"])
    if "mutations" in found:
        mutations = found["mutations"]
        lines += ["", *verdict_lines(f"mutations (seed {mutations['seed']})", mutations)]
        kinds = ", ".join(f"{kind} {one['agree']}/{one['cases']}" for kind, one in mutations["kinds"].items())
        lines.append(f"  by kind: {kinds}")
        if mutations["unusable"]:
            lines.append(f"  {counted(mutations['unusable'], 'resource')} not mutated, because not both called them valid before")
        lines += [line for one in mutations["disagreements"] for line in document_lines(one)]
    return "\n".join(visible(line) for line in lines) + "\n"
