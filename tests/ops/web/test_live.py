from structlog.testing import capture_logs

from touchstone.ops.web.live import Live, unknown_suites_of_tokens
from touchstone.schemas.settings.house import ServeSettings, Settings

INSTALLED = ("clinical", "safe_v0")


def test_a_token_for_a_suite_that_is_not_installed_is_told_and_not_quoted() -> None:
    tokens = ("all:everything-here-1", "safe_v0+clinical:both-of-these-16", "saef_v0:one-of-20-characters", "clinical+hunter2:one-of-21-characters")
    serve = ServeSettings.model_validate({"tokens": tokens})
    assert list(unknown_suites_of_tokens(serve, INSTALLED)) == [
        "serve.tokens: token 3 names a suite that is not installed here; did you mean safe_v0?",
        "serve.tokens: token 4 names a suite that is not installed here; installed are clinical, safe_v0",
    ]
    assert list(unknown_suites_of_tokens(ServeSettings(), INSTALLED)) == []


async def test_the_service_says_so_when_it_starts() -> None:
    live = Live(Settings(serve=ServeSettings.model_validate({"port": 0, "tokens": ["saef_v0:one-of-20-characters"]})))
    with capture_logs() as logs:
        await live.start()
        await live._server.stop()
    assert [(log["log_level"], log["event"]) for log in logs] == [("warning", "token_for_unknown_suite")]
