from touchstone.scorers.identity import ResultIds


def test_a_result_has_an_id_of_its_own_for_each_event_suite_version_and_configuration() -> None:
    ids = {ResultIds(suite, version, digest).of(event) for suite in "ab" for version in "12" for digest in "xy" for event in ("e", "f")}
    assert len(ids) == 16


def test_names_that_run_into_each_other_are_kept_apart() -> None:
    assert ResultIds("a", "1", "x").of("e") != ResultIds("a1", "", "x").of("e")
