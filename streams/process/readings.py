"""What a scorer counts itself (`touchstone.scorers.base.Reading`), as families of one scrape."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from touchstone.scorers.base import Reading

PREFIX = "touchstone_"


def families(suite: str, readings: Iterable[Reading]) -> Iterator[Metric]:
    """One family per name, with `suite` as the first label; readings of one name share a kind and differ in labels."""
    by_name: defaultdict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        by_name[reading.name].append(reading)
    for name, group in by_name.items():
        # Where one reading lacks a label that another has, its value is empty: a family has one set of label names.
        names = sorted({label for reading in group for label, _ in reading.labels})
        yield _family(suite, name, names, group)


def _family(suite: str, name: str, names: Sequence[str], group: Sequence[Reading]) -> Metric:
    """The family of one name."""
    first, labels = group[0], ["suite", *names]
    family: CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
    if first.kind == "counter":
        family = CounterMetricFamily(PREFIX + name, first.help, labels=labels)
    elif first.kind == "gauge":
        family = GaugeMetricFamily(PREFIX + name, first.help, labels=labels)
    else:
        family = HistogramMetricFamily(PREFIX + name, first.help, labels=labels)
    for reading in group:
        given = dict(reading.labels)
        values = [suite, *(given.get(label, "") for label in names)]
        if isinstance(family, HistogramMetricFamily):
            family.add_metric(values, [(_bound(upper), float(count)) for upper, count in reading.buckets], reading.value)
        else:
            family.add_metric(values, reading.value)
    return family


def _bound(upper: float) -> str:
    """A bucket's bound as Prometheus writes it."""
    return "+Inf" if upper == float("inf") else repr(float(upper))
