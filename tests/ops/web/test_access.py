import pytest
from pydantic import SecretStr, ValidationError

from tests.clock import Clock
from touchstone.ops.web.access import EVERYTHING, Access, Grant
from touchstone.schemas.settings.house import TOKEN_SCOPES, ServeSettings, TokenGrant

RESULTS = frozenset({"results"})
TOKENS = (TokenGrant("everything-token-1", None, TOKEN_SCOPES), TokenGrant("only-one-token-22", frozenset({"one"}), RESULTS))


def test_a_token_grants_its_suites() -> None:
    access = Access(TOKENS, 30)
    assert access.by_header("Bearer everything-token-1") == EVERYTHING
    assert access.by_header("Bearer only-one-token-22") == Grant(frozenset({"one"}))
    assert access.by_header("bearer only-one-token-22") == Grant(frozenset({"one"}))
    assert access.by_token("only-one-token-22") == Grant(frozenset({"one"}))


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer x", "bearer everything-token-1x", "Basic everything-token-1", "everything-token-1", "Bearer é"]
)
def test_anything_else_grants_nothing(header: str | None) -> None:
    assert Access(TOKENS, 30).by_header(header) is None
    assert Access(TOKENS, 30).ticket(header) is None


def test_the_scraper_s_token_is_no_other_token() -> None:
    access = Access(TOKENS, 30, scraper="s")
    assert access.by_scraper("Bearer s") == Grant(frozenset(), frozenset())
    assert [access.by_scraper(header) for header in (None, "", "Bearer ", "Bearer x", "Bearer é", "Bearer everything-token-1")] == [None] * 6
    assert (access.by_header("Bearer s"), access.by_token("s"), access.ticket("Bearer s")) == (None, None, None)
    assert Access(TOKENS, 30).by_scraper(None) is None


def test_without_tokens_everybody_who_can_connect_sees_everything() -> None:
    assert Access((), 30).by_header(None) == EVERYTHING


def test_a_ticket_grants_what_its_token_grants_once() -> None:
    access = Access(TOKENS, 30)
    ticket = access.ticket("Bearer only-one-token-22")
    assert access.by_ticket(ticket) == Grant(frozenset({"one"}))
    assert access.by_ticket(ticket) is None


def test_a_ticket_is_no_token() -> None:
    access = Access(TOKENS, 30)
    assert access.by_header(f"Bearer {access.ticket('Bearer only-one-token-22')}") is None


def test_a_ticket_expires() -> None:
    clock = Clock()
    access = Access(TOKENS, 30, clock)
    ticket = access.ticket("Bearer everything-token-1")
    clock.now += 31
    assert access.by_ticket(ticket) is None


def test_another_instance_with_the_same_tokens_takes_a_ticket_and_one_with_others_does_not() -> None:
    ticket = Access(TOKENS, 30).ticket("Bearer everything-token-1")
    assert Access(TOKENS[::-1], 30).by_ticket(ticket) is None
    assert Access(TOKENS, 30).by_ticket(ticket) == EVERYTHING


@pytest.mark.parametrize(
    "change",
    [
        lambda ticket: "0" + ticket[1:],
        lambda ticket: ticket[:-1] + "x",
        lambda ticket: ticket.replace(".", "", 1),
        lambda _: "",
        lambda _: "a.b.c.d",
        lambda _: "…",
    ],
)
def test_a_ticket_that_was_changed_grants_nothing(change: object) -> None:
    access = Access(TOKENS, 30)
    ticket = access.ticket("Bearer only-one-token-22")
    assert ticket is not None
    assert access.by_ticket(change(ticket)) is None  # type: ignore[operator]


def test_used_tickets_are_forgotten_when_they_have_expired() -> None:
    clock = Clock()
    access = Access(TOKENS, 30, clock)
    for _ in range(1_500):
        assert access.by_ticket(access.ticket("Bearer everything-token-1")) == EVERYTHING
    clock.now += 60
    access.by_ticket(access.ticket("Bearer everything-token-1"))
    assert len(access._used) == 1


def test_a_token_says_what_it_may_do() -> None:
    settings = ServeSettings(tokens=(SecretStr("all/text+annotate:0123456789abcdef"), SecretStr("one:fedcba9876543210")))
    access = Access(settings.grants(), 30)
    reviewer, watcher = (access.by_token(token) for token in ("0123456789abcdef", "fedcba9876543210"))
    assert reviewer is not None
    assert [scope for scope in ("results", "text", "annotate", "admin") if reviewer.may(scope)] == ["results", "text", "annotate"]
    assert watcher == Grant(frozenset({"one"}), RESULTS)


def test_a_table_of_a_settings_file_names_scopes() -> None:
    settings = ServeSettings.model_validate({"tokens": [{"token": "0123456789abcdef", "suites": "all", "scopes": ["text"]}]})
    assert settings.grants() == (("0123456789abcdef", None, frozenset({"results", "text"}), ""),)


@pytest.mark.parametrize("entry", ["all/everything:0123456789abcdef", "all/text annotate:0123456789abcdef", "/text:0123456789abcdef"])
def test_a_scope_that_does_not_exist_is_refused_without_quoting_the_token(entry: str) -> None:
    with pytest.raises(ValidationError, match="token 1: ") as refused:
        ServeSettings(tokens=(SecretStr(entry),))
    assert "0123456789abcdef" not in str(refused.value)
