"""The NLI benchmark's figures as tables for people, and beside their aims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchstone.ops.lab.bench.output import table

Figures = Mapping[str, Any]


def aims(found: Figures) -> list[dict[str, Any]]:
    """Each aim, with the figure and whether it is met."""
    aimed = [
        ("live suite over bare engine, pairs/s", found["whole"]["ratios"]["suite over engine"], ">=", 0.95),
        ("engine over CrossEncoder.predict per event, small events", found["notes"]["ratios"]["engine over per event"], ">=", 5.0),
        ("engine over CrossEncoder.predict per event, whole summaries", found["whole"]["ratios"]["engine over per event"], ">=", 5.0),
        ("engine over one CrossEncoder.predict call, whole summaries", found["whole"]["ratios"]["engine over one call"], ">=", 1.5),
        ("engine over one CrossEncoder.predict call, small events", found["notes"]["ratios"]["engine over one call"], ">=", 1.5),
        ("padding share", found["batches"]["padding_share"], "<=", 0.10),
    ]
    return [
        {"aim": name, "found": value, "wanted": f"{sign} {bound:g}", "met": value >= bound if sign == ">=" else value <= bound}
        for name, value, sign, bound in aimed
    ]


def report(found: Figures) -> str:
    """Everything, in Markdown."""
    engine = found["engine"]
    lines = [
        f"# NLI bench, {found['at']}" + (" (quick)" if found["quick"] else ""),
        "",
        f"Machine: {found['machine']}. Load before the run: {found['load_before']:.1f}. It took {found['took_s']:.0f} s.",
        f"Model {engine['model']}, {engine['runtime']} in {engine['numbers']}, {engine['device']}, {engine['threads']} CPU threads.",
        f"Support {engine['support']}. What torch computes, CrossEncoder too, is {engine['dtype']} where nothing else is said.",
        f"ONNX Runtime {engine['onnxruntime']}, torch {engine['torch']}.",
        f"Transformers {engine['transformers']}, sentence-transformers {engine['sentence_transformers']}.",
        "Ratios compare what ran in turn on the same pairs; absolute figures are this machine's, on this day.",
        "",
        *table(
            ("aim", "found", "wanted", ""),
            [(each["aim"], f"{each['found']:.2f}", each["wanted"], "met" if each["met"] else "missed") for each in found["aims"]],
        ),
    ]
    for part, title in (("whole", "Whole summaries"), ("notes", "Small events"), ("float32", "Whole summaries, float32 beside it")):
        if part in found:
            lines += _rates(title, found[part])
    return "\n".join(
        [
            *lines,
            *_agreement(found["agreement"]),
            *_batches(found["batches"]),
            *_cold(found["cold_start"]),
            *_latency(found["latency"]),
            *_filter(found["prefilter"]),
        ]
    )


def _rates(title: str, part: Figures) -> list[str]:
    """Pairs per second, and the ratios with their spread."""
    pairs, repeats = part["pairs"], len(part["pairs"])
    ratios = part["ratios_of_repeats"]
    return [
        f"## {title}",
        "",
        f"{part['events']} events with {sum(pairs) / repeats:,.0f} pairs, {repeats} repeat{'s' if repeats > 1 else ''}, medians.",
        "",
        *table(
            ("", "pairs/s", "processor ms per pair"),
            [(name, f"{rate:,.1f}", f"{part['cpu_ms_per_pair'][name]:.2f}") for name, rate in part["pairs_per_s"].items()],
        ),
        *table(
            ("ratio", "median", "lowest", "highest"),
            [(name, f"{part['ratios'][name]:.2f}", f"{min(each):.2f}", f"{max(each):.2f}") for name, each in ratios.items()],
        ),
    ]


def _agreement(found: Figures) -> list[str]:
    rows = [(name, f"{each['difference_max']:.1e}", f"{each['labels']:.4f}") for name, each in found.items()]
    return ["## Same answers", "", *table(("engine against", "greatest difference of a probability", "same likeliest label"), rows)]


def _batches(batches: Figures) -> list[str]:
    rows = [
        ("padding, share of computed tokens", f"{batches['padding_share']:.3f}"),
        ("identical pairs answered once, share of pairs", f"{batches['collapsed_share']:.3f}"),
        ("texts tokenised, share of texts in pairs", f"{batches['tokenized_share']:.3f}"),
        ("pairs per batch", f"{batches['pairs_per_batch']:.0f}"),
        ("tokens per pair", f"{batches['tokens_per_pair']:.0f}"),
    ]
    return ["## Batches of the live suite", "", *table(("", ""), rows)]


def _cold(cold: Figures) -> list[str]:
    names = {
        "start_s": "interpreter and our modules",
        "libraries_s": "the models' libraries",
        "load_s": "weights",
        "warm_up_s": "warm-up",
        "first_score_s": "first small event",
        "total_s": "all",
    }
    return ["## From process start to the first score", "", *table(("", "seconds"), [(text, f"{cold[name]:.2f}") for name, text in names.items()])]


def _latency(levels: list[Figures]) -> list[str]:
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
    about = "Small events at random moments, from the moment each was due to its result."
    return ["## Latency against offered load", "", about, "", *table(head, rows)]


def _filter(found: Figures) -> list[str]:
    rows = [(name, f"{shift['mean']:+.4f}", f"{shift['worst']:+.4f}") for name, shift in found["shifts"].items()]
    about = f"{found['events']} events, the nearest {found['top_k']} windows a statement: {found['pairs_share']:.0%} of the pairs,"
    about += f" {found['speedup']:.2f} times as fast."
    return ["## Prefilter", "", about, "", *table(("value", "mean change", "greatest change"), rows)]
