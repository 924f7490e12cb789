"""The projector with a measured judge beside it: event, metrics and API tell the rate that the same counts give, and new labels are noticed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.integration.brokers import Broker, Namespace
from tests.integration.test_projector import produce, projecting, reports_of, settings_on, until
from tests.ops.judge_folders import GOOD, calibrated, digest_of_labels, label, source_of
from tests.ops.web.served import served
from tests.streams.results_topic import result
from touchstone.ops.store.archive.objects import NoArchive
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.sources import Opened
from touchstone.schemas.settings.house import JudgesSettings
from touchstone.scorers.calibration.folder import recalls_of, suite_judge
from touchstone.scorers.calibration.prevalence import corrected
from touchstone.scorers.reporting.intervals import Rate
from touchstone.streams.account.projector import Projector
from touchstone.streams.telemetry.service_counts import ProjectorCounts


def no_archive() -> Any:
    raise NoArchive


@pytest.mark.timeout(90)
async def test_event_metric_and_api_tell_the_rate_of_the_counts_and_a_new_label_makes_it_stale(
    shared_embedded: Broker, namespace: Namespace, tmp_path: Path
) -> None:
    folder = tmp_path / "judges"
    settings = settings_on(shared_embedded, namespace, tmp_path).model_copy(update={"judges": JudgesSettings(folder=folder, interval_s=0.3)})
    store = ResultStore.open(settings.store.url.get_secret_value(), create=True)
    label(store, 1)
    calibrated(folder, labels=digest_of_labels(store), judge=suite_judge("0.1", "d1"))
    now = datetime.now(UTC) - timedelta(minutes=1)
    made = [result(event=f"e{n}", offset=n, batch=None, label="Fail" if n < 12 else "Pass").model_copy(update={"scored_at": now}) for n in range(60)]
    registry = CollectorRegistry()
    counts = ProjectorCounts(registry)
    seen: list[dict[str, Any]] = []
    try:
        async with reports_of(settings) as more, projecting(settings, store, metrics=counts, judges=source_of(store)) as projector:
            assert isinstance(projector, Projector)

            async def rated(stale: bool) -> bool:
                seen.extend(document for document, headers in await more() if headers["ce_type"] == b"touchstone:prevalence:v1")
                return bool(seen) and seen[-1]["seen"] == {"count": 12, "total": 60} and bool(seen[-1]["stale"]) is stale

            await produce(settings, made)
            await until(lambda: rated(stale=False))
            expected = corrected(Rate(12, 60), recalls_of(GOOD))
            assert (seen[-1]["corrected"], seen[-1]["low"], seen[-1]["high"]) == (expected.corrected, expected.interval.low, expected.interval.high)
            estimate = {"subject": "safe_v0", "bound": "estimate"}
            assert registry.get_sample_value("touchstone_corrected_failure_ratio", estimate) == expected.corrected
            assert registry.get_sample_value("touchstone_calibration_stale", {"subject": "safe_v0"}) == 0

            label(store, 2, "pass")
            await until(lambda: rated(stale=True))
            # A round of review gives one label after the other, and raises no alarm.
            assert registry.get_sample_value("touchstone_calibration_stale", {"subject": "safe_v0"}) == 0
            opened = Opened(History(store.engine), CaseIndex(store.engine), no_archive)
            async with served(sources=opened) as web:

                async def told() -> bool:
                    (one,) = (await web.get("/api/judges")).json()["judges"]
                    return bool(one["prevalence"] == seen[-1])

                await until(told)
    finally:
        store.close()
