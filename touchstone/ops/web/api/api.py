"""The API's addresses, and how this service opens what they need."""

import time
from collections.abc import Callable, Iterator
from functools import partial

from touchstone.ops.store.archive.archive import open_archive
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.calls import Endpoint
from touchstone.ops.web.api.case import OneCase
from touchstone.ops.web.api.cases import CaseLists
from touchstone.ops.web.api.errors import ErrorAnalysis
from touchstone.ops.web.api.guidelines import GuidelineTexts
from touchstone.ops.web.api.judges import Judges
from touchstone.ops.web.api.queues import ReviewQueues
from touchstone.ops.web.api.runs import Runs
from touchstone.ops.web.api.search import Search
from touchstone.ops.web.api.sources import Opened, Sources
from touchstone.ops.web.api.traces import Traces
from touchstone.ops.web.links import Signer
from touchstone.schemas.settings.house import Settings


def endpoints(sources: Sources, settings: Settings, signer: Signer | None = None, clock: Callable[[], float] = time.time) -> Iterator[Endpoint]:
    """Every address of the API. `signer`: of links to queues."""
    case = OneCase(sources)
    yield from CaseLists(sources).endpoints
    yield from case.endpoints
    yield from Traces(sources, case, settings.archive.case_bytes_max).endpoints
    yield from Search(sources).endpoints
    yield from Runs(sources).endpoints
    yield from ErrorAnalysis(sources).endpoints
    yield from ReviewQueues(sources, settings.serve.review, signer or Signer(settings.serve.grants()), clock).endpoints
    yield from GuidelineTexts(sources).endpoints
    yield from Judges(sources).endpoints


def open_sources(settings: Settings) -> Opened:
    """Open the store of the settings. Raises `ConfigError`."""
    store = ResultStore.open(settings.store.url.get_secret_value())
    index = CaseIndex(store.engine)
    return Opened(History(store.engine), index, partial(open_archive, settings.archive, index))
