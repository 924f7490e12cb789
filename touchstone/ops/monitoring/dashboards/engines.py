"""NLI and GPU: fill of batches, waiting time of pairs, use of the device."""

from touchstone.ops.monitoring.dashboards.parts import Page, Row, heat, lines, number, states
from touchstone.ops.monitoring.dashboards.queries import SUITE, buckets, of, per_s, quantile, total

ENGINE = f'{SUITE}, engine=~"$engine"'
BY = "suite, engine"


def rate(metric: str, *matchers: str, by: str = BY) -> str:
    """An engine counter's rate per second."""
    return per_s(metric, *matchers, by=by, own=ENGINE)


PADDING, TOKENS = rate("touchstone_engine_padding_tokens_total"), rate("touchstone_engine_tokens_total")
KNOWN, NEW = rate("touchstone_engine_texts_remembered_total"), rate("touchstone_engine_texts_tokenized_total")
DEPTH, LIMIT = of("touchstone_engine_queue_depth_items", own=ENGINE), of("touchstone_engine_queue_limit_items", own=ENGINE)

QUEUE = Row(
    "Queue",
    [
        lines("Queued items", "Items that wait for the model.", "short",
              (total("touchstone_engine_queue_depth_items", by=BY, own=ENGINE), "{{suite}} {{engine}}")),
        number("Fullest queue", "Share of the queue's limit that is taken. When it is full, callers wait, and that slows reading down.", "percentunit",
               f"max({DEPTH} / {LIMIT})", warn=0.7, bad=0.9),
        lines("Wait", "From submission to the start of an item's batch: median and 99th percentile.", "s",
              (quantile(0.5, "touchstone_engine_queue_wait_seconds", by=BY, own=ENGINE), "{{suite}} {{engine}} p50"),
              (quantile(0.99, "touchstone_engine_queue_wait_seconds", by=BY, own=ENGINE), "{{suite}} {{engine}} p99")),
        lines("Work saved", "Items answered by an identical one, and items whose caller had gone.", "cps",
              (rate("touchstone_engine_collapsed_items_total"), "{{suite}} {{engine}} identical"),
              (rate("touchstone_engine_dropped_items_total"), "{{suite}} {{engine}} not wanted any more")),
    ],
)  # fmt: skip
BATCHES = Row(
    "Batches",
    [
        lines("Inferences", "Items computed.", "cps", (rate("touchstone_engine_inferences_total"), "{{suite}} {{engine}}")),
        lines("Items of a batch", "Inferences over batches: the mean batch.", "short",
              (f"{rate('touchstone_engine_inferences_total')} / {rate('touchstone_engine_batches_total')}", "{{suite}} {{engine}}")),
        lines("Why batches were closed", "budget: full; idle: the device had nothing to do; deadline: the oldest item had waited; drain: the end.", "cps",
              (rate("touchstone_engine_flushes_total", by="engine, reason"), "{{engine}} {{reason}}"), stacked=True),
        lines("Padding", "Share of the computed tokens that only made batches rectangular.", "percentunit",
              (f"{PADDING} / ({PADDING} + {TOKENS})", "{{suite}} {{engine}}"), top=1),
        heat("Sizes of batches", "Items of a batch, in powers of two.", "short", buckets("touchstone_engine_batch_size_items", own=ENGINE)),
        heat("Tokens of batches", "Padded tokens of a batch, in powers of two.", "short", buckets("touchstone_engine_batch_size_tokens", own=ENGINE)),
    ],
)  # fmt: skip
TEXTS = Row(
    "Texts",
    [
        lines("Tokenizing", "99th percentile of one call of the tokenizer.", "s",
              (quantile(0.99, "touchstone_engine_tokenization_seconds", by=BY, own=ENGINE), "{{suite}} {{engine}}")),
        lines("Known texts", "Share of the texts whose tokens were cached.", "percentunit", (f"{KNOWN} / ({KNOWN} + {NEW})", "{{suite}} {{engine}}"), top=1),
        lines("Known vectors", "Texts whose vector was cached.", "cps", (rate("touchstone_engine_vectors_remembered_total"), "{{suite}} {{engine}}")),
    ],
    width=8,
)  # fmt: skip
DEVICE = Row(
    "Device",
    [
        lines("Busy", "Share of the time that a forward pass runs. Near 1 the device is the limit; far below it, look at the queue and at the processor.",
              "percentunit",
              (per_s("touchstone_engine_forward_seconds_sum", by="suite, instance, engine", own=ENGINE), "{{suite}} {{instance}} {{engine}}")),
        lines("Time of a batch", "One forward pass: median and 99th percentile.", "s",
              (quantile(0.5, "touchstone_engine_forward_seconds", by=BY, own=ENGINE), "{{suite}} {{engine}} p50"),
              (quantile(0.99, "touchstone_engine_forward_seconds", by=BY, own=ENGINE), "{{suite}} {{engine}} p99")),
        lines("Tokens", "Tokens computed, padding not counted.", "cps", (TOKENS, "{{suite}} {{engine}}")),
        lines("Budget", "Padded tokens that a batch may have now. It falls when the device's memory was too small, and comes back by and by.", "short",
              (of("touchstone_engine_batch_budget_tokens", own=ENGINE), "{{suite}} {{instance}} {{engine}}")),
        lines("Faults", "Passes out of memory, items on which the model failed, and inference threads that were lost.", "cps",
              (rate("touchstone_engine_out_of_memory_total"), "{{suite}} {{engine}} out of memory"),
              (rate("touchstone_engine_poisoned_items_total"), "{{suite}} {{engine}} failed items"),
              (rate("touchstone_engine_deaths_total"), "{{suite}} {{engine}} lost threads")),
        states("Engines", "Green while an engine takes work.", (of("touchstone_engine_up", own=ENGINE), "{{suite}} {{instance}} {{engine}}")),
    ],
    width=8,
)  # fmt: skip
PAGE = Page(
    "touchstone-engines",
    "Touchstone / NLI and GPU",
    "The models: queues, batches, padding, caches and devices.",
    [QUEUE, BATCHES, TEXTS, DEVICE],
    others=[("engine", "Engine", 'label_values(touchstone_engine_up{job=~"$job", suite=~"$suite"}, engine)')],
)
