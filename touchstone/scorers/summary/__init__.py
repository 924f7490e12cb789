"""Loss V3 for generated summaries: facts, entities, flow, meaning and length against a gold standard. See docs/summary-loss.md.

Importing this package loads no model library; building a scorer does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from touchstone.schemas.reports.summary import LossReport
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import AsksJudge, ConfigError, Lacking, Place, Samples
from touchstone.scorers.installing import install_extras
from touchstone.scorers.suite import Suite
from touchstone.scorers.summary import batch
from touchstone.scorers.summary.case_names import name_of
from touchstone.scorers.summary.settings import DOCUMENT_NAME, ENV_PREFIX, NAME, VERSION, SummarySettings, fingerprint, resolve

if TYPE_CHECKING:
    from touchstone.schemas.gold import GoldStandardDatum
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.result import Scorecard, ScoreResult
    from touchstone.scorers.engines.base import Engines
    from touchstone.scorers.summary.scorer import SummaryLossScorer

METRICS = ("loss", "facts_loss", "recall", "precision", "entities_loss", "flow_loss", "coverage", "order", "semantic_loss", "cosine", "length_loss")
NEEDED = ("numpy", "pysbd", "rapidfuzz")


def build(settings: SummarySettings, engines: Engines | None = None) -> SummaryLossScorer:
    """Read the golds and open the engines, which takes seconds, unless they are given. Raises `ConfigError`."""
    return _scorer(settings, engines)


def score_summary(
    datum: GoldStandardDatum,
    generated: str,
    *,
    structured_output_requested: bool = False,
    engines: Engines | None = None,
    settings: SummarySettings | None = None,
) -> Scorecard:
    """Score one generated summary against its gold, and wait for it; not to be called in a running event loop (await `build(settings).score(case)` there).

    `engines`: opened once by the caller and kept (`touchstone.scorers.engines.open_engines`). Without them they are opened,
    which takes seconds, and closed again. Raises `ConfigError`, `Unavailable`.
    """

    async def once() -> Scorecard:
        scorer = _scorer(settings or SummarySettings(), engines)
        try:
            return await scorer.score(SummaryCase(datum=datum, generated=generated, structured_output_requested=structured_output_requested))
        finally:
            await scorer.close(engines=engines is None)

    return asyncio.run(once())


def _scorer(settings: SummarySettings, engines: Engines | None) -> SummaryLossScorer:
    """A scorer over given or new engines. Faulty settings are found before models are loaded."""
    if absent := [name for name in NEEDED if find_spec(name) is None]:
        raise ConfigError(f"summary_loss: no module {absent[0]!r} here; {install_extras('nli-onnx', 'summary')}")
    from touchstone.scorers.engines.open_engines import open_engines
    from touchstone.scorers.summary.components.support import calibration_for
    from touchstone.scorers.summary.golds import load_golds
    from touchstone.scorers.summary.scorer import SummaryLossScorer

    golds = load_golds(settings.gold) if settings.gold is not None else {}
    calibration = calibration_for(settings)
    judge = None
    if settings.asks_judge and settings.judge.is_usable:
        from touchstone.scorers.judges.serve import open_judge

        judge = open_judge(settings.judge, suite=NAME)
    return SummaryLossScorer(engines or open_engines(settings.engines), settings, golds, calibration, judge)


def notes(settings: SummarySettings) -> list[str]:
    """Which NLI model answers here, where the settings leave that open, its numbers, and which judge, where one is asked."""
    from touchstone.scorers.engines.catalogue import DEFAULT, choose
    from touchstone.scorers.engines.runtime_plan import numbers_note

    lines = [f"nli_model {settings.engines.nli_model}: {choose(settings.engines).why}"] if settings.engines.nli_model in DEFAULT else []
    if (numbers := numbers_note(settings.engines)) is not None:
        lines.append(f"numbers: {numbers}")
    if settings.asks_judge:
        lines.append(
            f"judge: {settings.judge.model}" if settings.judge.is_usable else Lacking(f"what is uncertain stays with the models: {settings.judge.why_unusable}")
        )
    return lines


def complete(record: dict[str, Any], _: Place) -> dict[str, Any]:
    """The record itself. Raises `ValueError` for one without `kind` and without a summary: nothing else is required."""
    if record.get("kind") is None and not SummaryCase.signature <= record.keys():
        raise ValueError("is not a summary; leave it out, or write kind `summary` and `generated`")
    return record


def careful_answer(request: str) -> Mapping[str, Any]:
    """A careful reader's answer to a judge's request about a sample."""
    from touchstone.scorers.summary.judging.careful_answer import careful_answer as of_package

    return of_package(request)


def reading(case: SummaryCase | None, result: ScoreResult) -> CaseReading:
    """A summary sentence by sentence beside its loss; loads no model."""
    from touchstone.scorers.summary.reading import reading as of_package

    return of_package(case, result)


def with_gold(case: SummaryCase, result: ScoreResult, settings: SummarySettings) -> SummaryCase:
    """The case with the gold that it names, where the file of the settings still has the one that the result was scored with."""
    from touchstone.scorers.summary.golds import gold_of

    digest = result.details.get("gold_digest")
    if case.datum is not None or case.gold_ref is None or settings.gold is None or not isinstance(digest, str):
        return case
    datum = gold_of(settings.gold, case.gold_ref, digest)
    return case if datum is None else case.model_copy(update={"datum": datum})


def samples() -> Samples:
    """Generated summaries of invented sources, with their golds."""
    from touchstone.scorers.summary.samples import samples as of_package

    return of_package()


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="Loss V3",
    topics=("generations",),
    cases={"summary": SummaryCase},
    resolve=resolve,
    build=build,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    requires={
        "numpy": "nli-onnx",
        "onnxruntime|torch": "nli-onnx",
        "tokenizers": "nli-onnx",
        "safetensors": "nli-onnx",
        "rapidfuzz": "summary",
        "pysbd": "summary",
    },
    notes=notes,
    execution="window",
    judged=AsksJudge(
        is_on=lambda settings: settings.asks_judge and settings.judge.is_usable,
        env={f"{ENV_PREFIX}SUPPORT": "judge"},
        env_of_all={
            f"{ENV_PREFIX}JUDGE_{name}": value for name, value in (("BAND_LOW", "0"), ("BAND_HIGH", "1"), ("FACTS_MAX", "100"), ("SENTENCES_MAX", "600"))
        },
        samples=samples,
        answer=careful_answer,
    ),
    window_cases=64,
    complete=complete,
    columns=batch.COLUMNS,
    call=name_of,
    reading=reading,
    with_references=with_gold,
    metrics=METRICS,
    group=batch.group,
    report=batch.report,
    verdict=batch.verdict,
    view=batch.view,
    report_model=LossReport,
    reported_cases=batch.cases_of,
    layouts={"json": batch.json_pieces},
    samples=samples,
)
