"""The NLI benchmark's figures as a table for people, and against what was aimed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Told = Mapping[str, Any]


def aims(told: Told) -> list[dict[str, Any]]:
    """Each aim: what was found, and whether it is met; what was not measured is left out."""
    found = [
        ("live suite over bare engine, pairs/s", told["whole"]["ratios"]["suite over engine"], ">=", 0.95),
        ("engine over CrossEncoder.predict per event, small events", told["notes"]["ratios"]["engine over per event"], ">=", 5.0),
        ("engine over CrossEncoder.predict per event, whole summaries", told["whole"]["ratios"]["engine over per event"], ">=", 5.0),
        ("engine over one CrossEncoder.predict call, whole summaries", told["whole"]["ratios"]["engine over one call"], ">=", 1.5),
        ("engine over one CrossEncoder.predict call, small events", told["notes"]["ratios"]["engine over one call"], ">=", 1.5),
        ("padding share", told["batches"]["padding_share"], "<=", 0.10),
    ]
    return [
        {"aim": name, "found": value, "wanted": f"{sign} {bound:g}", "met": value >= bound if sign == ">=" else value <= bound}
        for name, value, sign, bound in found
    ]


def table(told: Told) -> str:
    """Everything, in Markdown."""
    engine = told["engine"]
    lines = [
        f"# NLI bench, {told['at']}" + (" (quick)" if told["quick"] else ""),
        "",
        f"Machine: {told['machine']}. Load before the run: {told['load_before']:.1f}. It took {told['took_s']:.0f} s.",
        f"Model {engine['model']}, {engine['runtime']} in {engine['numbers']}, {engine['device']}, {engine['threads']} CPU threads.",
        f"Support {engine['support']}. What torch computes, CrossEncoder too, is {engine['dtype']} where nothing else is said.",
        f"ONNX Runtime {engine['onnxruntime']}, torch {engine['torch']}.",
        f"Transformers {engine['transformers']}, sentence-transformers {engine['sentence_transformers']}.",
        "Ratios compare what ran in turn on the same pairs; absolute figures are this machine's, on this day.",
        "",
        *_table(
            ("aim", "found", "wanted", ""), [(each["aim"], f"{each['found']:.2f}", each["wanted"], "met" if each["met"] else "missed") for each in told["aims"]]
        ),
    ]
    for part, title in (("whole", "Whole summaries"), ("notes", "Small events"), ("float32", "Whole summaries, float32 beside it")):
        if part in told:
            lines += _rates(title, told[part])
    return "\n".join(
        [
            *lines,
            *_agreement(told["agreement"]),
            *_batches(told["batches"]),
            *_cold(told["cold_start"]),
            *_latency(told["latency"]),
            *_filter(told["prefilter"]),
        ]
    )


def _rates(title: str, part: Told) -> list[str]:
    """Pairs per second, and the ratios with their spread."""
    pairs, repeats = part["pairs"], len(part["pairs"])
    ratios = part["ratios_of_repeats"]
    return [
        f"## {title}",
        "",
        f"{part['events']} events with {sum(pairs) / repeats:,.0f} pairs, {repeats} repeat{'s' if repeats > 1 else ''}, medians.",
        "",
        *_table(
            ("", "pairs/s", "processor ms per pair"),
            [(name, f"{rate:,.1f}", f"{part['cpu_ms_per_pair'][name]:.2f}") for name, rate in part["pairs_per_s"].items()],
        ),
        *_table(
            ("ratio", "median", "lowest", "highest"),
            [(name, f"{part['ratios'][name]:.2f}", f"{min(each):.2f}", f"{max(each):.2f}") for name, each in ratios.items()],
        ),
    ]


def _agreement(found: Told) -> list[str]:
    rows = [(name, f"{each['difference_max']:.1e}", f"{each['labels']:.4f}") for name, each in found.items()]
    return ["## Same answers", "", *_table(("engine against", "greatest difference of a probability", "same likeliest label"), rows)]


def _batches(batches: Told) -> list[str]:
    rows = [
        ("padding, share of computed tokens", f"{batches['padding_share']:.3f}"),
        ("identical pairs answered once, share of pairs", f"{batches['collapsed_share']:.3f}"),
        ("texts tokenised, share of texts in pairs", f"{batches['tokenized_share']:.3f}"),
        ("pairs per batch", f"{batches['pairs_per_batch']:.0f}"),
        ("tokens per pair", f"{batches['tokens_per_pair']:.0f}"),
    ]
    return ["## Batches of the live suite", "", *_table(("", ""), rows)]


def _cold(cold: Told) -> list[str]:
    names = {
        "start_s": "interpreter and our modules",
        "libraries_s": "the models' libraries",
        "load_s": "weights",
        "warm_up_s": "warm-up",
        "first_score_s": "first small event",
        "total_s": "all",
    }
    return ["## From process start to the first score", "", *_table(("", "seconds"), [(text, f"{cold[name]:.2f}") for name, text in names.items()])]


def _latency(levels: list[Told]) -> list[str]:
    rows = [
        (
            f"{each['share']:.0%}",
            f"{each['offered_per_s']:.1f}",
            f"{each['done_per_s']:.1f}",
            f"{each['events']}",
            f"{each['p50_ms']:,.0f}",
            f"{each['p99_ms']:,.0f}",
            "yes" if each["saturated"] else "no",
        )
        for each in levels
    ]
    head = ("offered, of its rate with a backlog", "offered/s", "done/s", "events", "p50 ms", "p99 ms", "saturated")
    told = "Small events at random moments, from the moment each was due to its result."
    return ["## Latency against offered load", "", told, "", *_table(head, rows)]


def _filter(found: Told) -> list[str]:
    rows = [(name, f"{shift['mean']:+.4f}", f"{shift['worst']:+.4f}") for name, shift in found["shifts"].items()]
    told = f"{found['events']} events, the nearest {found['top_k']} windows a statement: {found['pairs_share']:.0%} of the pairs,"
    told += f" {found['speedup']:.2f} times as fast."
    return ["## Prefilter", "", told, "", *_table(("value", "mean change", "greatest change"), rows)]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows), ""]
