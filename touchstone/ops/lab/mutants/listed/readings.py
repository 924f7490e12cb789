"""Readings: whose entries a chart shows, what a report may quote, and how much is kept for it."""

from touchstone.ops.lab.mutants.mutant import Mutant

_TEST_REPORTS = "tests/ops/test_readings_in_reports.py"

READINGS: tuple[Mutant, ...] = (
    Mutant(
        "chart_of_two_patients",
        "entries of another patient's messages stand in one chart",
        "touchstone/scorers/clinical/reading/described.py",
        "        if first is not None and not all(is_one_person(first, one) for one in found.patients):",
        "        if False:",
        ("tests/scorers/clinical/reading/test_charts_of_documents.py",),
    ),
    Mutant(
        "readings_without_the_right",
        "an HTML report that may not quote shows the cases in full",
        "touchstone/ops/cli/common/scoring.py",
        'if shows_readings(places) and getattr(run.settings, "quote", False) is True:',
        "if shows_readings(places):",
        (_TEST_REPORTS,),
    ),
    Mutant(
        "readings_without_bound_in_bytes",
        "the worst cases of a run are kept whatever memory they take",
        "touchstone/ops/batch/worst.py",
        "            if place == self.most or (place and room < 0):",
        "            if place == self.most:",
        ("tests/ops/batch/test_worst.py",),
    ),
    Mutant(
        "cases_of_other_processes_stay_there",
        "with several processes a report has no readings",
        "touchstone/ops/batch/pool.py",
        "        entries.append(one if kept is None else one._replace(kept=kept))",
        "        entries.append(one)",
        ("tests/ops/batch/test_run.py",),
    ),
    Mutant(
        "hash_for_people",
        "a report names an expectation that may not be quoted by a hash",
        "touchstone/scorers/safe/names.py",
        "    return _REFERENCE.fullmatch(text) is not None",
        "    return False",
        ("tests/ops/test_safe_cli.py",),
    ),
    Mutant(
        "readers_make_an_archive",
        "whoever only reads makes an empty archive, and every case is called no longer there",
        "touchstone/ops/store/archive/objects.py",
        "            if not _is_folder(self._absent):\n                raise NoArchive(",
        "            _opened(self._absent, mkdir=True)\n            if not _is_folder(self._absent):\n                raise NoArchive(",
        ("tests/ops/store/archive/test_archive.py",),
    ),
    Mutant(
        "forgotten_elsewhere",
        "a case is called forgotten though its object is in an archive that this command does not see",
        "touchstone/ops/store/archive/removal.py",
        'and not any(row is not None and row.state == "kept" for row in events.values())',
        "and True",
        ("tests/ops/store/archive/test_archive.py",),
    ),
)
