"""The archive: every case once and whole, and nothing left of one that is forgotten."""

from touchstone.ops.lab.mutants.mutant import Mutant

_OBJECTS = "touchstone/ops/store/archive/objects.py"
_REMOVAL = "touchstone/ops/store/archive/removal.py"
_TEST_ARCHIVE = "tests/ops/store/archive/test_archive.py"
_QUOTED_LIVE = "tests/ops/web/test_canary.py::test_a_result_that_quotes_is_streamed_and_answered_with_its_quotes_only_with_the_right_to_text"
_TEST_WRITER = "tests/ops/store/archive/test_writer.py"
_TEST_ARCHIVER = "tests/integration/test_archiver.py"
_TEST_S3 = "tests/integration/test_archive_s3.py"

ARCHIVE: tuple[Mutant, ...] = (
    Mutant(
        "restored_result_loses_its_batch",
        "a result that reindex restores is missing from its suite's batch",
        "touchstone/ops/store/archive/reindexing.py",
        "read_result(archive.objects.get(entry.path), suites)",
        "read_result(archive.objects.get(entry.path))",
        (f"{_TEST_ARCHIVE}::test_a_restored_result_is_in_its_suites_batch_and_is_as_good_as_before",),
    ),
    Mutant(
        "replacing_store_is_taken",
        "cases are written to a store that replaces an object that is there",
        _OBJECTS,
        '        if second == "created":\n',
        '        if second == "other":\n',
        (f"{_TEST_S3}::test_a_server_that_ignores_conditions_is_refused_at_the_start",),
    ),
    Mutant(
        "lost_refusal_is_an_outage",
        "a large case that is there already stops the archiver for good",
        _OBJECTS,
        "            if not self.exists(path):\n",
        "            if True:\n",
        (f"{_TEST_S3}::test_a_refusal_that_is_lost_is_found_out",),
    ),
    Mutant(
        "part_of_a_case_stays",
        "a part of a patient's case, left by a killed writer, outlives the case",
        _OBJECTS,
        "        self._clear_staged(path)\n        try:\n",
        "        try:\n",
        (f"{_TEST_ARCHIVE}::test_what_a_killed_writer_left_of_a_case_goes_with_the_next_write_and_when_it_is_forgotten",),
    ),
    Mutant(
        "object_without_row_is_not_forgotten",
        "a case whose archiver was killed before it wrote the row is not forgotten",
        _REMOVAL,
        "[row.path] if row is not None and row.path else _without_row(archive, event_id, dry_run=dry_run)",
        "[row.path] if row is not None and row.path else []",
        (f"{_TEST_ARCHIVE}::test_forgetting_finds_the_object_of_an_archiver_that_was_killed_before_it_wrote_the_row",),
    ),
    Mutant(
        "forgotten_trace_is_taken_again",
        "a trace that somebody asked to forget is kept again when it is sent under another event id",
        "touchstone/ops/store/cases.py",
        'at, trace_id=trace_id, state="forgotten")',
        'at, state="forgotten")',
        (f"{_TEST_ARCHIVE}::test_a_forgotten_trace_is_not_taken_again_under_another_event_id",),
    ),
    Mutant(
        "case_without_key_stops_the_archiver",
        "one object that no key here opens stops the archiver for all cases",
        _OBJECTS,
        "        except Undecipherable:\n            return False\n",
        "        except Undecipherable:\n            raise\n",
        (f"{_TEST_ARCHIVE}::test_a_case_that_no_key_here_opens_hurts_no_other_and_a_search_says_that_it_could_not_read_it",),
    ),
    Mutant(
        "unread_case_has_no_such_text",
        "a search says that nothing is found where it could not read the cases",
        "touchstone/ops/store/archive/searching.py",
        "            unread += holds.count(None)\n",
        "",
        (f"{_TEST_ARCHIVE}::test_a_case_that_no_key_here_opens_hurts_no_other_and_a_search_says_that_it_could_not_read_it",),
    ),
    Mutant(
        "middle_of_another_topic",
        "the beginning of a results topic that was made anew is skipped without a word",
        "touchstone/streams/account/committed.py",
        "if (of_id and self.topic_id and of_id != self.topic_id) or at > end:",
        "if at > end:",
        (_TEST_ARCHIVER,),
    ),
    Mutant(
        "blocked_disk_is_well",
        "a disk that blocks counts as one that answers, and the archiver waits for it for ever",
        "touchstone/streams/account/archiver.py",
        'return ("objects", now - asked_at) if asked_at is not None else',
        'return ("objects", 0.0) if asked_at is not None else',
        (f"{_TEST_ARCHIVER}::test_a_disk_that_blocks_is_said_commits_nothing_and_work_goes_on",),
    ),
    Mutant(
        "forgotten_while_it_was_written",
        "a patient's case that was forgotten while an archiver wrote it stays in the archive",
        "touchstone/ops/store/archive/writer.py",
        "        self._archive.take_back([row.event_id for row in rows], [row for row in rows if row.path])\n",
        "",
        (f"{_TEST_WRITER}::test_a_case_that_is_forgotten_while_it_is_written_leaves_no_object",),
    ),
    Mutant(
        "forgotten_while_it_was_sent",
        "a trace that was forgotten while an application sent it stays in the archive, and the application is told that it is kept",
        "touchstone/ops/store/archive/keeping.py",
        "            self.index.keep([row])\n        self.check_not_forgotten([one.event_id for one in written], written)\n",
        "            self.index.keep([row])\n",
        (f"{_TEST_WRITER}::test_a_posted_trace_that_is_forgotten_while_it_is_written_leaves_no_object",),
    ),
    Mutant(
        "stream_quotes_to_everybody",
        "where a suite quotes, a live stream shows a patient's name to a token without the right to text",
        "touchstone/ops/web/quoting.py",
        "    if has_text or not event.is_result:\n",
        "    if True:\n",
        (_QUOTED_LIVE,),
    ),
    Mutant(
        "one_result_quotes_to_everybody",
        "where a suite quotes, a single result shows a patient's name to a token without the right to text",
        "touchstone/ops/web/results.py",
        'document if grant.may("text") else without_text(document)',
        "document",
        (_QUOTED_LIVE,),
    ),
    Mutant(
        "idle_archiver_is_ready",
        "an archiver with nothing to write says that it is ready while its store of objects is away",
        "touchstone/streams/account/archiver.py",
        "                    await self._ask(self._archive.check_readable)\n",
        "",
        ("tests/integration/test_archive_away.py::test_an_archiver_with_nothing_to_write_notices_that_the_folder_is_away",),
    ),
)
