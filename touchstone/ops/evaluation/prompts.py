"""Prompts from a file: one a line, or the column `prompt` of a CSV file."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from touchstone.ops.evaluation.items import Item
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_bounded

COLUMN: Final = "prompt"
FILE_BYTES_MAX: Final = 16_777_216
PROMPTS_MAX: Final = 10_000
PROMPT_CHARS_MAX: Final = 20_000
#: Possible column separators; the one in the header is used.
_SEPARATORS: Final = ",;\t"


def read_prompts(path: Path) -> tuple[Item, ...]:
    """The prompts of a file, as tests `prompt-0001`, `prompt-0002`, … Raises `ConfigError` with the line.

    If the first line has a column `prompt`, that column is read as CSV. Otherwise every line is one prompt, commas
    included; quotation marks around the whole line are dropped. Blank lines are skipped.
    """
    text = _text(path)
    prompts = tuple(_of_column(path, text) if _has_header(text) else _of_lines(path, text))
    if not prompts:
        raise ConfigError(f"{path}: holds no prompt; write one a line, or a column {COLUMN}")
    if len(prompts) > PROMPTS_MAX:
        raise ConfigError(f"{path}: more than {PROMPTS_MAX} prompts; split the file")
    digits = max(4, len(str(len(prompts))))
    return tuple(Item(id=f"prompt-{number:0{digits}}", prompt=prompt, place=f"{path.name}, line {line}") for number, (line, prompt) in enumerate(prompts, 1))


def _text(path: Path) -> str:
    data = read_bounded(path, FILE_BYTES_MAX, remedy="check --prompts-file", too_large="split the file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: is not UTF-8; save the file as UTF-8") from None


def _separator(header: str) -> str:
    return max(_SEPARATORS, key=header.count) if any(sign in header for sign in _SEPARATORS) else ","


def _names(header: str) -> list[str]:
    """The columns of the first line, read as a header."""
    try:
        return [name.strip().casefold() for name in next(csv.reader([header], delimiter=_separator(header), strict=True), [])]
    except csv.Error:
        return []


def _has_header(text: str) -> bool:
    return COLUMN in _names(text.lstrip("\r\n").split("\n", 1)[0])


def _of_column(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and prompt of each row."""
    blank = len(text) - len(text.lstrip("\r\n"))
    first = text[blank:].split("\n", 1)[0]
    names = _names(first)
    if names.count(COLUMN) > 1:
        raise ConfigError(f"{path}: two columns are called {COLUMN}; keep one")
    column = names.index(COLUMN)
    rows = csv.reader(text[blank:].splitlines(keepends=True), delimiter=_separator(first), strict=True)
    skipped = text[:blank].count("\n")
    begins = skipped + 1
    try:
        for number, row in enumerate(rows):
            line, begins = begins, skipped + rows.line_num + 1
            if number == 0 or not any(field.strip() for field in row):
                continue
            if len(row) != len(names):
                hint = "quote a prompt that holds the separator" if len(row) > len(names) else "quote a prompt that goes over several lines"
                raise ConfigError(f"{path}, line {line}: {len(row)} fields, {len(names)} columns; {hint}")
            yield line, check_prompt(f"{path}, line {line}", row[column])
    except csv.Error as error:
        raise ConfigError(f"{path}, line {begins}: is not CSV ({error}); check its quotation marks") from None


def _of_lines(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        written = line.strip()
        if len(written) >= 2 and written[0] == written[-1] == '"' and '"' not in written[1:-1].replace('""', ""):
            written = written[1:-1].replace('""', '"').strip()
        if written:
            yield number, check_prompt(f"{path}, line {number}", written)


def check_prompt(where: str, prompt: str) -> str:
    """The prompt without surrounding blanks. `where`: its source. Raises `ConfigError`."""
    told = prompt.strip()
    if not told:
        raise ConfigError(f"{where}: the prompt is empty; write one, or leave it out")
    if len(told) > PROMPT_CHARS_MAX:
        raise ConfigError(f"{where}: a prompt has at most {PROMPT_CHARS_MAX} characters")
    if "\0" in told or any("\ud800" <= sign <= "\udfff" for sign in told):
        raise ConfigError(f"{where}: the prompt holds a character that is no text")
    return told
