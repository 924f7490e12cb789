"""What a judge's folder must hold, and the one error that says what is wrong in it."""

import json
from pathlib import Path

import pytest

from tests.scorers.clinical.failure_modes.judge_folders import EXAMPLES, NAME, PROMPT, made, settings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.failure_modes import SAMPLE_JUDGES, SUITE, FailureModeSettings, build, resolve
from touchstone.scorers.clinical.failure_modes.judge_folders import EXAMPLES_MAX, JUDGES_MAX, load_judges
from touchstone.scorers.identity import config_digest

#: File → its content (None: none) → what the error says.
BROKEN: list[tuple[str, str | None, str]] = [
    ("prompt.md", None, "prompt.md is missing"),
    ("judge.toml", None, "judge.toml is missing"),
    ("prompt.md", "Judge this.", "write `version: 1.0`"),
    ("prompt.md", PROMPT.replace("{{trace}}", "{{story}}"), "no place story here"),
    ("prompt.md", PROMPT.replace("{{trace}}", "{{trace!}}"), "no place trace here"),
    ("prompt.md", PROMPT.replace("{{trace}}", ""), "shows nothing of the case"),
    ("prompt.md", PROMPT.replace("{{examples}}", ""), "has no place {{examples}}"),
    ("judge.toml", "question =", "is not TOML"),
    ("judge.toml", 'kind = "llm"', "question is missing"),
    ("judge.toml", 'question = "x"\nthreshold = 3', "is no key here; there are kind, question"),
    ("judge.toml", 'question = "x"\nkind = "code"', "kind"),
    ("examples.jsonl", "{", "examples.jsonl, line 1 is not JSON"),
    ("examples.jsonl", '{"text": "x"}', "examples.jsonl, line 1: "),
    ("examples.jsonl", "\n".join([json.dumps(EXAMPLES[0])] * (EXAMPLES_MAX + 1)), f"at most {EXAMPLES_MAX}"),
    ("calibration.json", "{", "calibration.json is not JSON"),
    ("splits.json", "[]", "splits.json"),
]


@pytest.mark.parametrize(("file", "text", "message"), BROKEN, ids=[f"{file}: {message}" for file, _, message in BROKEN])
def test_a_broken_folder_is_one_clear_error_when_the_scorer_is_built(tmp_path: Path, file: str, text: str | None, message: str) -> None:
    path = made(tmp_path) / file
    path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    for attempt in (build, SUITE.fingerprint):
        with pytest.raises(ConfigError) as raised:
            attempt(settings(tmp_path))
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("part", ["dev", "test"])
def test_an_example_of_a_patient_who_is_not_in_the_training_split_is_refused(tmp_path: Path, part: str) -> None:
    folder = made(tmp_path)
    (folder / "splits.json").write_text(json.dumps({"seed": 0, "parts": {"p1": "train", "p2": part}}))
    with pytest.raises(ConfigError, match=f"1 examples of the prompt are not of the training split .{part}."):
        build(settings(tmp_path))
    (folder / "splits.json").write_text(json.dumps({"seed": 0, "parts": {"p1": "train", "p2": "train"}}))
    build(settings(tmp_path))


def test_a_folder_that_is_set_and_not_there_is_an_error_and_the_default_one_need_not_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"judges\.folder is set, and there is no folder"):
        build(settings(tmp_path / "away"))
    monkeypatch.chdir(tmp_path)
    build(FailureModeSettings())


@pytest.mark.parametrize("name", ["Missing Labs", "duplicate_therapy", "modes_passed", "x" * 65])
def test_a_name_that_is_none_or_another_s_is_refused(tmp_path: Path, name: str) -> None:
    made(tmp_path, name)
    with pytest.raises(ConfigError, match=r"rename it|choose another name"):
        build(settings(tmp_path))


def test_folders_of_code_and_of_suites_are_no_judges(tmp_path: Path) -> None:
    made(tmp_path)
    for name in ("safe_v0", "duplicate_therapy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "history.jsonl").write_text("")
    assert [one.name for one in load_judges(tmp_path, frozenset())] == [NAME]


def test_only_the_judges_that_are_named_are_asked(tmp_path: Path) -> None:
    for name in ("one", "two"):
        made(tmp_path, name)
    chosen = settings(tmp_path, judges={"only": ["two"]})
    assert [*SUITE.fingerprint(chosen)["judges"], *SUITE.metrics_with(chosen)[-1:]] == ["two", "two"]
    with pytest.raises(ConfigError, match="has no judge three"):
        build(settings(tmp_path, judges={"only": ["three"]}))


def test_more_judges_than_a_result_can_hold_are_refused(tmp_path: Path) -> None:
    for number in range(JUDGES_MAX + 1):
        made(tmp_path, f"judge_{number}")
    with pytest.raises(ConfigError, match=f"at most {JUDGES_MAX} are asked"):
        build(settings(tmp_path))


def test_the_digest_of_a_judge_does_not_depend_on_where_its_folder_lies(tmp_path: Path) -> None:
    digests = set()
    for place in ("one", "two"):
        made(tmp_path / place)
        digests.add((load_judges(tmp_path / place, frozenset())[0].digest, config_digest(SUITE.fingerprint(settings(tmp_path / place)))))
    assert len(digests) == 1


def test_variables_name_the_folder_and_the_judge_s_own_are_read_only_where_there_are_judges(tmp_path: Path) -> None:
    made(tmp_path)
    for name in ("TOUCHSTONE_JUDGES_FOLDER", "FAILURE_MODES_JUDGES_FOLDER"):
        found = resolve({name: str(tmp_path), "TOUCHSTONE_JUDGE_MODEL": "one-model"}, None)
        assert (found.judges.folder, found.judge.model) == (tmp_path, "one-model")
    assert resolve({"TOUCHSTONE_JUDGE_TIMEOUT_S": "soon", "FAILURE_MODES_JUDGES_FOLDER": str(tmp_path / "away")}, None).judge.timeout_s == 60
    assert resolve({"FAILURE_MODES_JUDGES_FOLDER": str(tmp_path), "FAILURE_MODES_SHADOW": NAME}, None).shadow == (NAME,)
    with pytest.raises(ConfigError, match=f"there is no failure mode bad_mood; there are .*{NAME}"):
        resolve({"FAILURE_MODES_JUDGES_FOLDER": str(tmp_path), "FAILURE_MODES_SHADOW": "bad_mood"}, None)


def test_the_sample_judge_has_the_prompt_that_new_judges_get() -> None:
    template = SAMPLE_JUDGES.parent / "prompts" / "mode.md"
    assert (SAMPLE_JUDGES / "story_against_request" / "prompt.md").read_bytes() == template.read_bytes()
    assert [one.name for one in load_judges(SAMPLE_JUDGES, frozenset())] == ["story_against_request"]
