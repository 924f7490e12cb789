"""A judge that cannot be talked to, and labels that agree with their numbers."""

from touchstone.ops.lab.mutants.mutant import Mutant

_VERDICT = "touchstone/scorers/judges/ask/verdict.py"
_TEST_VERDICTS = "tests/scorers/judges/test_verdicts.py"
_TEST_HOSTILE = "tests/scorers/clinical/judging/test_hostile_traces.py"

JUDGES: tuple[Mutant, ...] = (
    # -- what the judge itself said, and nothing else
    Mutant(
        "object_in_prose",
        "an object that the judge quotes in its prose is its verdict",
        _VERDICT,
        " and read[1] == len(whole):",
        ":",
        (_TEST_VERDICTS,),
    ),
    Mutant(
        "several_calls",
        "of several function calls the one that a text provoked counts",
        _VERDICT,
        "    if len(calls) > 1:",
        "    if False:",
        (_TEST_VERDICTS,),
    ),
    Mutant(
        "text_beside_a_call",
        "what stands beside a function call is passed over",
        _VERDICT,
        "    if said.strip():",
        "    if False:",
        (_TEST_VERDICTS,),
    ),
    Mutant(
        "key_twice",
        "an object that says two things is a verdict",
        _VERDICT,
        "    if len(found) < len(pairs):",
        "    if False:",
        (_TEST_VERDICTS,),
    ),
    Mutant(
        "first_mark",
        "the first line with the key counts, not the last",
        _VERDICT,
        "marks[-1].end()",
        "marks[0].end()",
        (_TEST_VERDICTS,),
    ),
    Mutant(
        "any_key",
        "a line with any key counts",
        _VERDICT,
        "_MARK_LINE % re.escape(key)",
        '_MARK_LINE % "[0-9a-f]+"',
        ("tests/scorers/judges/test_quoted_verdicts.py",),
    ),
    Mutant(
        "verdict_read_in_the_old_way_is_kept",
        "verdicts that were kept under weaker rules are taken",
        "touchstone/scorers/judges/serve/verdict_cache.py",
        "settings.structured, _READING)",
        "settings.structured)",
        ("tests/scorers/judges/test_verdict_cache.py",),
    ),
    Mutant(
        "refusal_passes",
        "a text that makes the judge refuse passes with the rest of its score",
        "touchstone/scorers/clinical/judging/scorecard.py",
        '"Warn" if is_critical or in_vain else "Pass"',
        '"Warn" if is_critical else "Pass"',
        (_TEST_HOSTILE,),
    ),
    Mutant(
        "refusal_passes_as_a_summary",
        "the same for a summary",
        "touchstone/scorers/summary/scorer.py",
        'bounded(by_values.label, "Review", in_vain)',
        'bounded(by_values.label, "Review", "")',
        ("tests/scorers/summary/judging/test_judges_that_fail.py",),
    ),
    Mutant(
        "unsure_summary_passes",
        "a summary of which the model is too unsure is no Pass",
        "touchstone/scorers/summary/labels.py",
        'dict.fromkeys(certainty.too_unsure(labels), "Review")',
        'dict.fromkeys((), "Review")',
        ("tests/scorers/summary/test_certainty.py",),
    ),
    Mutant(
        "unsupported_text_is_no_fail",
        "a text that the gold does not support is Fail",
        "touchstone/scorers/summary/labels.py",
        "if certainty.is_mostly_unborne(labels):",
        "if False:",
        ("tests/scorers/summary/test_certainty.py",),
    ),
    # -- a label and its number
    Mutant(
        "number_beats_its_label",
        "a trace is FAIL beside 94.6, and lifts the average",
        "touchstone/scorers/clinical/checks/scores.py",
        "return min(overall, OVERALL_MAX[label]), label",
        "return overall, label",
        ("tests/scorers/clinical/checks/test_scores.py",),
    ),
    Mutant(
        "half_a_document_scores",
        "a document that cannot be read keeps the score of what was read",
        "touchstone/scorers/clinical/checks/scores.py",
        'if check.name not in TERMINOLOGY_CHECKS) if label_max != "Fail" else 0.0',
        "if check.name not in TERMINOLOGY_CHECKS)",
        ("tests/ops/evaluation/test_eval_runs.py::test_documents_that_are_cut_in_half_lower_the_average",),
    ),
    # -- the system under test
    Mutant(
        "secret_in_a_file",
        "a self-test takes a secret from its configuration file",
        "touchstone/scorers/selftest/system_settings.py",
        "if _SECRET.search(name) and not VARIABLE.search(value):",
        "if False:",
        ("tests/scorers/selftest/test_template.py",),
    ),
    Mutant(
        "endless_output",
        "a command that writes without end fills the memory",
        "touchstone/ops/selftest/command_system.py",
        "if (size := size + len(part)) > OUTPUT_BYTES_MAX:",
        "if False:",
        ("tests/ops/selftest/test_command_system.py",),
    ),
    # -- a judge that is away, and its money
    Mutant(
        "hanging_server_is_asked_by_all",
        "a server that answers nobody is asked by every case until its time is up",
        "touchstone/scorers/judges/serve/gate.py",
        "            self._silent_at = begun + self._deadline_s\n",
        '            self._silent_at = float("inf")\n',
        ("tests/scorers/judges/test_away.py::test_a_server_that_answers_nobody_gets_one_request_an_interval_and_costs_one_deadline",),
    ),
    Mutant(
        "lone_failure_stops_all",
        "one case at which the server hangs takes its neighbours' time",
        "touchstone/scorers/judges/serve/gate.py",
        "        if is_new and len(self._failed) <= 1 and",
        "        if False and",
        ("tests/scorers/judges/test_away.py::test_a_case_that_fails_alone_takes_nobody_s_time",),
    ),
    Mutant(
        "uncertain_is_spent",
        "requests that timed out use the budget up",
        "touchstone/scorers/judges/serve/budget.py",
        "min(balance.uncertain, self._uncertain_max)",
        "balance.uncertain",
        ("tests/scorers/judges/test_budget.py::test_what_a_dead_process_reserved_is_uncertain_and_counts_up_to_a_share",),
    ),
    Mutant(
        "the_dead_keep_their_money",
        "what a killed process had reserved stays reserved until the period ends",
        "touchstone/scorers/judges/serve/budget.py",
        "            _forget_the_dead(base, now)\n",
        "",
        ("tests/scorers/judges/test_budget.py::test_what_a_dead_process_reserved_is_uncertain_and_counts_up_to_a_share",),
    ),
    Mutant(
        "timeouts_cost_nothing",
        "a request without an answer counts as free",
        "touchstone/scorers/judges/serve/spending.py",
        "uncertain=answer is None or isinstance(answer, Fault)",
        "uncertain=False",
        ("tests/scorers/judges/test_budget.py::test_what_may_have_been_charged_counts_though_no_answer_came",),
    ),
)
