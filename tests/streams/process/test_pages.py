import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from touchstone.schemas.settings.house import HttpSettings
from touchstone.scorers.base import ConfigError
from touchstone.streams.process.pages import Pages, Probe
from touchstone.streams.telemetry.metrics import CollectorRegistry, WorkerMetrics

Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(token: str | None = None, healthy: Probe = lambda: (True, ""), ready: Probe = lambda: (True, ""), **settings: Any) -> str:
            registry = CollectorRegistry()
            metrics = WorkerMetrics("safe_v0", "1", "direct", registry)
            metrics.consumed("generations", {"json": 3})
            metrics.finished({("scored", ""): 2, ("dead", "not_json"): 1})
            metrics.results({("Pass", (("CR", 0.8),)): 2})
            pages = Pages(HttpSettings(token=token, **settings), registry, healthy, ready)
            stack.callback(pages.stop)
            return pages.start()

        yield start


def get(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_metrics_parse_and_the_accounting_identity_holds_in_a_scrape(serve: Serve) -> None:
    status, text = get(serve() + "/metrics")
    assert status == 200
    samples = {(s.name, *sorted(s.labels.items())): s.value for family in text_string_to_metric_families(text) for s in family.samples}
    total = sum(value for key, value in samples.items() if key[0] == "touchstone_events_consumed_total")
    terms = {"touchstone_events_outcomes_total", "touchstone_events_released_total", "touchstone_events_in_flight"}
    parts = sum(value for key, value in samples.items() if key[0] in terms)
    assert total == parts == 3


def test_a_threshold_is_an_exact_bucket(serve: Serve) -> None:
    _, text = get(serve() + "/metrics")
    assert 'touchstone_score_ratio_bucket{le="0.8",metric="CR",suite="safe_v0"} 2.0' in text
    assert 'touchstone_score_ratio_bucket{le="0.75",metric="CR",suite="safe_v0"} 0.0' in text


def test_probes_answer_yes_or_say_why_not(serve: Serve) -> None:
    address = serve(ready=lambda: (False, "not in the group yet"))
    assert get(address + "/healthz") == (200, "ok\n")
    assert get(address + "/readyz") == (503, "not in the group yet\n")


def test_an_unknown_page_is_not_found(serve: Serve) -> None:
    assert get(serve() + "/table")[0] == 404


def test_a_token_guards_the_metrics_but_not_the_probes(serve: Serve) -> None:
    address = serve(token="s3cret")
    assert get(address + "/metrics")[0] == 401
    assert get(address + "/metrics", Authorization="Bearer wrong")[0] == 401
    assert get(address + "/metrics", Authorization="Bearer s3cret")[0] == 200
    assert get(address + "/healthz")[0] == 200


def test_an_ipv6_host_listens(serve: Serve) -> None:
    pages = Pages(HttpSettings(host="::1"), CollectorRegistry(), lambda: (True, ""), lambda: (True, ""))
    try:
        address = pages.start()
    except ConfigError:
        pytest.skip("no IPv6 here")
    try:
        assert address.startswith("http://[::1]:")
        assert get(address + "/healthz") == (200, "ok\n")
    finally:
        pages.stop()


def test_a_host_that_is_no_name_is_one_clear_error() -> None:
    with pytest.raises(ConfigError, match="cannot listen"):
        Pages(HttpSettings(host="x" * 70, token="t"), CollectorRegistry(), lambda: (True, ""), lambda: (True, "")).start()


def test_a_port_in_use_is_one_clear_error(serve: Serve) -> None:
    port = int(serve().rsplit(":", 1)[1])
    with pytest.raises(ConfigError, match="cannot listen"):
        Pages(HttpSettings(port=port), CollectorRegistry(), lambda: (True, ""), lambda: (True, "")).start()


@pytest.mark.parametrize("page", ["/metrics", "/healthz", "/readyz"])
@pytest.mark.parametrize(
    ("host", "status"),
    [("evil.example:8080", 403), ("127.0.0.1.evil.example", 403), ("localhost:1", 200), ("10.0.0.7:8080", 200), ("[fd00::7]:8080", 200), ("", 403)],
)
def test_a_page_of_another_name_cannot_read_the_pages_of_loopback(serve: Serve, page: str, host: str, status: int) -> None:
    assert get(serve() + page, Host=host)[0] == status


def test_names_that_a_setting_allows_are_own_names(serve: Serve) -> None:
    address = serve(allowed_hosts=("worker.internal",))
    assert [get(f"{address}/healthz", Host=host)[0] for host in ("worker.internal:8080", "localhost", "other.internal")] == [200, 200, 403]


@pytest.mark.parametrize("written", ["Worker.Internal", "worker.internal:8080", "worker.internal."])
def test_a_name_is_the_same_however_it_is_written(serve: Serve, written: str) -> None:
    address = serve(allowed_hosts=(written,))
    assert [get(f"{address}/healthz", Host=host)[0] for host in ("worker.internal", "WORKER.internal.:1", "", "internal")] == [200, 200, 403, 403]
