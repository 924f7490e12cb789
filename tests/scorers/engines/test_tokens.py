import pytest

from tests.scorers.engines.tiny import SENTENCES, bert_tokenizer, roberta_tokenizer
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines.tokens import REMEMBERED_CHARACTERS_MAX, Lru, Tokenizer, words_of

pytestmark = pytest.mark.xdist_group("models")


def test_the_last_used_are_remembered_and_no_more_than_asked_for() -> None:
    memory: Lru[int] = Lru(2)
    memory.keep({"a": 1, "b": 2})
    assert memory.find(["a", "a"]) == ({"a": 1}, [])
    memory.keep({"c": 3})
    assert memory.find(["a", "b", "b", "c"]) == ({"a": 1, "c": 3}, ["b"])


def test_who_was_first_to_remember_a_text_is_right() -> None:
    memory: Lru[object] = Lru(10)
    first, second = object(), object()
    assert memory.keep({"a": first}) == {"a": first}
    assert memory.keep({"a": second}) == {"a": first}


def test_a_very_long_text_is_answered_but_not_remembered() -> None:
    memory: Lru[int] = Lru(10)
    long = "x" * (REMEMBERED_CHARACTERS_MAX + 1)
    assert memory.keep({long: 1}) == {long: 1}
    assert memory.find([long]) == ({}, [long])


def test_a_tokenizer_that_was_saved_with_a_cut_does_not_cut_here() -> None:
    tokenizer = bert_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(5)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    tokens = Tokenizer(words_of(tokenizer), 10).tokens([SENTENCES[0], "dog"])
    assert len(tokens[SENTENCES[0]]) > 5
    assert len(tokens["dog"]) < 5


def test_a_template_is_read_off_the_tokenizer() -> None:
    bert, roberta = words_of(bert_tokenizer()).template(pair=True), words_of(roberta_tokenizer()).template(pair=True)
    assert (len(bert.before), len(bert.between), len(bert.after), bert.types, bert.specials) == (1, 1, 1, (0, 1), 3)
    assert (len(roberta.before), len(roberta.between), len(roberta.after), roberta.types, roberta.specials) == (1, 2, 1, None, 4)


def test_a_tokenizer_that_cannot_pad_is_refused_in_one_line() -> None:
    tokenizer = bert_tokenizer()
    tokenizer.pad_token = None
    with pytest.raises(ConfigError, match="padding token"):
        words_of(tokenizer)
