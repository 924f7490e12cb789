from pathlib import Path

import pytest

from tests.ops.batch.files import written
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_document, without_comments
from touchstone.scorers.safe.settings import resolve


def test_comments_are_allowed_in_documents_but_not_inside_strings(tmp_path: Path) -> None:
    path = written(tmp_path / "safe.config.json", '// ours\n{"a": "http://x \\"//", // why\n "b": 1}')
    assert read_document(path) == {"a": 'http://x "//', "b": 1}
    assert without_comments("a // b") == "a "


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1,\n}', "line 2: not valid JSON"),
        ('{"a": 1, "a": 2}', "a: given twice"),
        ("[]", "is not a JSON object"),
        (b"\xff{}", "not UTF-8"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "nested too deep"),
        (" " * 1_048_577, "larger than"),
    ],
)
def test_bad_documents_are_one_line(tmp_path: Path, text: str | bytes, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        read_document(written(tmp_path / "c.json", text))


def test_a_missing_document_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_document(tmp_path / "absent.json")


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "safe.md").read_text(encoding="utf-8")
    blocks = {language: text.split(f"```{language}\n")[1].split("```")[0] for language in ("python", "json")}
    exec(blocks["python"], {})
    assert "Pass=10 Review=4 Fail=4" in capsys.readouterr().out
    settings = resolve({}, read_document(written(tmp_path / "c.json", blocks["json"])))
    assert settings.rules_of("Safety_Signal").weights.AH == 3.0
    assert settings.rules_of("other").weights.AH == 1.5
