from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from touchstone.scorers.base import ConfigError
from touchstone.scorers.settings import Resolver, merged, source_of, variables

SECRET = "hunter2-very-secret"


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Tier(Part):
    up_to: int = 1


class Engine(Part):
    device: str = Field("cpu", pattern="^(cpu|gpu)$")
    key: SecretStr | None = None
    table: Path | None = None


class Mine(Part):
    engine: Engine = Engine()
    tiers: tuple[Tier, ...] = ()
    named: dict[str, Tier] = Field(default_factory=dict)
    sizes: tuple[int, ...] | None = None
    is_strict: bool = Field(False, alias="isStrict")


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


resolve = Resolver(Mine, "MINE_", "mine.json", read_file=read)


def refusal(env: Mapping[str, str], document: Mapping[str, Any] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(env, document)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_every_key_that_a_line_of_text_can_set_has_a_variable() -> None:
    assert list(variables(Mine, "MINE_")) == ["MINE_ENGINE_DEVICE", "MINE_ENGINE_KEY", "MINE_ENGINE_TABLE", "MINE_SIZES", "MINE_IS_STRICT"]


def test_a_later_layer_lies_over_an_earlier_one_key_by_key() -> None:
    document = {"engine": {"device": "gpu", "table": "a"}, "isStrict": True}
    settings = resolve({"MINE_ENGINE_TABLE": "b", "MINE_SIZES": "1, 2", "OTHER": "x"}, document, {"sizes": [3]})
    assert (settings.engine.device, settings.engine.table, settings.sizes, settings.is_strict) == ("gpu", Path("b"), (3,), True)
    assert resolve({"MINE_SIZES": "1, 2"}, document).sizes == (1, 2)
    assert document == {"engine": {"device": "gpu", "table": "a"}, "isStrict": True}


def test_a_specification_may_name_the_variables() -> None:
    named = Resolver(Mine, "MINE_", "mine.json", {"MINE_STRICT": ("isStrict",), "THEIR_KEY": ("engine", "key"), "MINE_KEY": ("engine", "key")})
    assert named({"MINE_STRICT": "true"}, None).is_strict
    settings = named({"THEIR_KEY": "a", "MINE_KEY": "b", "THEIR_OTHER": "c"}, None)
    assert settings.engine.key == SecretStr("b")


def test_a_field_with_an_alias_is_set_by_its_variable() -> None:
    assert resolve({"MINE_IS_STRICT": "true"}, {"isStrict": False}).is_strict


def test_what_an_option_sets_is_the_command_line_s() -> None:
    with pytest.raises(ConfigError, match=r"^the command line: isStrict: "):
        resolve({}, {"isStrict": True}, {"isStrict": "x"})


def test_an_empty_variable_counts_as_not_set() -> None:
    assert resolve({"MINE_SIZES": " ", "MINE_ENGINE_DEVICE": "", "MINE_ENGINE_KEY_FILE": ""}, None) == Mine()


@pytest.mark.parametrize("text", ["", "\n", " \n"])
def test_an_empty_file_is_no_value(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(ConfigError, match=r"^MINE_ENGINE_KEY_FILE: the file it names is empty; write the value into it, or unset the variable$"):
        resolve({"MINE_ENGINE_KEY_FILE": str(tmp_path / "key")}, None)


def test_a_value_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET + "\n")
    key = resolve({"MINE_ENGINE_KEY": "", "MINE_ENGINE_KEY_FILE": str(tmp_path / "key")}, None).engine.key
    assert key == SecretStr(SECRET)


@pytest.mark.parametrize(
    ("env", "document", "told"),
    [
        ({"MINE_SIZE": SECRET}, None, "MINE_SIZE: unknown variable; did you mean MINE_SIZES?"),
        ({"MINE_ENGINE_ZZZZ": "1"}, None, "MINE_ENGINE_ZZZZ: unknown variable; known: MINE_ENGINE_DEVICE, MINE_ENGINE_KEY, MINE_ENGINE_TABLE"),
        ({"MINE_ENGINE_TABLE_FILE": "1"}, None, "MINE_ENGINE_TABLE_FILE: unknown variable; did you mean MINE_ENGINE_TABLE?"),
        ({"MINE_TIERS": "1"}, None, "MINE_TIERS: unknown variable"),
        ({"MINE_ENGINE_KEY": SECRET, "MINE_ENGINE_KEY_FILE": "x"}, None, "MINE_ENGINE_KEY and MINE_ENGINE_KEY_FILE: both are set; keep one"),
        ({"MINE_ENGINE_KEY_FILE": "/nonexistent"}, None, "MINE_ENGINE_KEY_FILE: the file it names cannot be read (FileNotFoundError)"),
        ({"MINE_ENGINE_DEVICE": SECRET}, {"engine": {"device": "gpu"}}, "MINE_ENGINE_DEVICE: engine.device: "),
        ({"MINE_SIZES": f"1,{SECRET}"}, None, "MINE_SIZES: sizes.1: "),
        ({}, {"isStrikt": True}, "mine.json: isStrikt: unknown key, did you mean isStrict?"),
        ({}, {"zzz": True}, "mine.json: zzz: unknown key (known: engine, tiers, named, sizes, isStrict)"),
        ({}, {"named": {"a.b": {"upto": 1}}}, "mine.json: named.a.b.upto: unknown key, did you mean up_to?"),
        ({}, {"tiers": [{"upto": 1}]}, "mine.json: tiers.0.upto: unknown key, did you mean up_to?"),
        ({"MINE_ENGINE_DEVICE": "cpu"}, {"engine": SECRET, "sizes": "x"}, "mine.json: sizes: "),
        ({"MINE_SIZES": "x", "MINE_ENGINE_DEVICE": "x"}, None, "MINE_ENGINE_DEVICE: engine.device: "),
    ],
)
def test_what_is_wrong_is_told_with_who_set_it_and_what_is_meant(env: dict[str, str], document: dict[str, Any] | None, told: str) -> None:
    assert told in refusal(env, document)


def test_all_that_is_wrong_is_told_at_once() -> None:
    message = refusal({"MINE_SIZES": "x", "MINE_ENGINE_DEVICE": "x"}, {"isStrict": "x"})
    assert all(part in message for part in ("MINE_SIZES: sizes.0: ", "MINE_ENGINE_DEVICE: engine.device: ", "mine.json: isStrict: "))


def test_what_is_replaced_is_nobody_s_any_more() -> None:
    values, origin = merged([({"a": {"b": 1, "c": 2}}, "first"), ({"a": 5}, "second"), ({"a": {"c": 3}}, "third")])
    assert (values, origin) == ({"a": {"c": 3}}, {("a", "c"): "third"})


def test_a_fault_of_a_section_names_all_who_set_something_in_it() -> None:
    origin = {("a", "b"): "y", ("a", "c"): "x", ("ab",): "z"}
    assert source_of(("a",), origin) == "x and y"
    assert source_of(("a", "b", "0"), origin) == "y"
    assert source_of(("a", "missing"), origin) == "x and y"
    assert source_of(("q",), origin) == "default"
