"""What a scorer counts itself (`touchstone.scorers.base.Reading`), as families of one scrape."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import HistogramMetricFamily, Metric

from touchstone.scorers.base import Reading
from touchstone.streams.telemetry import metric_list

PREFIX = "touchstone_"


def families(suite: str, readings: Iterable[Reading]) -> Iterator[Metric]:
    """One family per name, with `suite` as the first label; readings of one name share a kind and differ in labels.

    Raises `ValueError` for a name of the house's own list: two families of one name make a scrape unreadable.
    """
    by_name: defaultdict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        by_name[reading.name].append(reading)
    for name, group in by_name.items():
        full = PREFIX + name + ("_total" if group[0].kind == "counter" and not name.endswith("_total") else "")
        if full in metric_list.BY_NAME:
            raise ValueError(full)
        # A label that another reading of the family has and this one has not is empty: a family has one set of label names.
        names = sorted({label for reading in group for label, _ in reading.labels})
        yield _family(suite, full, names, group)


def _family(suite: str, name: str, names: Sequence[str], group: Sequence[Reading]) -> Metric:
    first = group[0]
    described = metric_list.Metric(name, first.kind, "", first.help, ("suite", *names))
    values = [(suite, *(dict(reading.labels).get(label, "") for label in names)) for reading in group]
    if first.kind != "histogram":
        return metric_list.family(described, {own: reading.value for own, reading in zip(values, group, strict=True)})
    family = HistogramMetricFamily(name, first.help, labels=described.labels)
    for own, reading in zip(values, group, strict=True):
        family.add_metric(own, [(metric_list.bound_text(upper), float(count)) for upper, count in reading.buckets], reading.value)
    return family
