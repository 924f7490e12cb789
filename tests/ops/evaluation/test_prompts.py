from pathlib import Path

import pytest

from touchstone.ops.evaluation.prompts import PROMPT_CHARS_MAX, PROMPTS_MAX, read_prompts
from touchstone.scorers.base import ConfigError


def prompts(tmp_path: Path, content: str | bytes) -> list[str]:
    path = tmp_path / "p.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [item.prompt for item in read_prompts(path)]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("A man of 40\nA woman of 30\n", ["A man of 40", "A woman of 30"]),
        ("A man, 40, with asthma\r\n\r\n  A woman  \r\n", ["A man, 40, with asthma", "A woman"]),
        ('"A man, 40"\n"He said ""no"""\n', ["A man, 40", 'He said "no"']),
        ('"one" and "two"\n', ['"one" and "two"']),
        (b"\xef\xbb\xbfprompt\nA man\n", ["A man"]),
        ("id,prompt,note\n1,A man,x\n2,\"A woman, 30\",y\n", ["A man", "A woman, 30"]),
        ('Prompt\n"A man\nwith two lines"\nA woman\n', ["A man\nwith two lines", "A woman"]),
        ("id;prompt\n1;A man, 40\n", ["A man, 40"]),
        ("id\tprompt\n1\tA man\n\n\t\n", ["A man"]),
        ("\n\nprompt\nA man\n", ["A man"]),
        ("A patient\n", ["A patient"]),
        ("prompt of the day\nA man\n", ["prompt of the day", "A man"]),
    ],
)  # fmt: skip
def test_prompts_are_the_column_or_else_the_lines(tmp_path: Path, content: str | bytes, wanted: list[str]) -> None:
    assert prompts(tmp_path, content) == wanted


def test_a_prompt_knows_its_line(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text('prompt\n"A\nB"\n\nC\n')
    items = read_prompts(tmp_path / "p.csv")
    assert [(item.id, item.place) for item in items] == [("prompt-0001", "p.csv, line 2"), ("prompt-0002", "p.csv, line 5")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "holds no prompt"),
        ("prompt\n", "holds no prompt"),
        ("\n \n", "holds no prompt"),
        ("id,prompt\n1,A man, 40\n", "line 2: 3 fields, 2 columns; quote a prompt that holds the separator"),
        ("id,prompt\n1,A\n2\n", "line 3: 1 fields, 2 columns"),
        ("id,prompt\n1,\n", "line 2: the prompt is empty"),
        ("prompt,prompt\na,b\n", "two columns"),
        ('id,prompt\n1,"A man\n2,B\n', "line 2: is not CSV"),
        (b"A man\n\xff\n", "line 2: is not UTF-8"),
        ("A\0B\n", "line 1: the prompt holds a character that is no text"),
        ("A\n" + "x" * (PROMPT_CHARS_MAX + 1), "line 2: a prompt has at most"),
        ("x\n" * (PROMPTS_MAX + 1), "more than 10000 prompts"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_by_its_line(tmp_path: Path, content: str | bytes, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        prompts(tmp_path, content)
    assert told in str(refused.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_prompts(tmp_path / "none.csv")
