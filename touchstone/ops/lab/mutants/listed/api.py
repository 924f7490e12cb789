"""Mutants of the API over the history: who may see, and in whose name somebody writes."""

from touchstone.ops.lab.mutants.mutant import Mutant

API: tuple[Mutant, ...] = (
    Mutant(
        "star_overwrites",
        "`If-Match: *` overwrites what another reviewer wrote",
        "touchstone/ops/web/api/preconditions.py",
        "        if is_needed:\n",
        "        if is_needed and not given:\n",
        ("tests/ops/web/test_api_preconditions.py",),
    ),
    Mutant(
        "reviewer_poses",
        "a reviewer annotates in another's name",
        "touchstone/ops/web/access.py",
        "        return reviewer == self.name if self.name else _folded(reviewer) not in self.taken\n",
        "        return True\n",
        ("tests/ops/web/test_api_scopes.py",),
    ),
    Mutant(
        "feedback_sees_results",
        "an application that only sends feedback reads every list",
        "touchstone/schemas/settings/house.py",
        '    return named if named == {"feedback"} else named | {"results"}',
        '    return named | {"results"}',
        ("tests/ops/web/test_api_scopes.py",),
    ),
    Mutant(
        "step_names_the_patient",
        "a step's name is shown without the right to text",
        "touchstone/ops/web/api/spans.py",
        "isinstance(name, str) and (has_text or name in SPECIFIED)",
        "isinstance(name, str)",
        ("tests/ops/web/test_api_spans.py",),
    ),
)
