"""PromQL of the dashboards, put together from a metric's name and the template variables."""

#: Label filters of every selector, so that the variables at the top of a page apply to all of its panels.
PROCESS = 'job=~"$job", instance=~"$instance"'
SUITE = f'{PROCESS}, suite=~"$suite"'
#: Recorded series have no instance label.
RECORDED = 'job=~"$job", suite=~"$suite"'


def of(metric: str, *matchers: str, own: str = SUITE) -> str:
    """A selector: the metric of the chosen processes and suites. `own`: PROCESS for metrics without a suite."""
    return f"{metric}{{{', '.join((own, *matchers))}}}"


def recorded(series: str, own: str = RECORDED) -> str:
    """A recorded series of the chosen suites."""
    return f"{series}{{{own}}}"


def per_s(metric: str, *matchers: str, by: str = "", own: str = SUITE) -> str:
    """A counter's rate per second, summed over processes. `by`: labels to keep."""
    return f"{_sum(by)} (rate({of(metric, *matchers, own=own)}[$__rate_interval]))"


def total(metric: str, *matchers: str, by: str = "", own: str = SUITE) -> str:
    """A gauge summed over processes."""
    return f"{_sum(by)} ({of(metric, *matchers, own=own)})"


def quantile(share: float, histogram: str, *matchers: str, by: str = "", own: str = SUITE) -> str:
    """A quantile of a histogram over all processes."""
    return f"histogram_quantile({share:g}, {per_s(histogram + '_bucket', *matchers, by=f'{by}, le' if by else 'le', own=own)})"


def mean(histogram: str, *matchers: str, by: str = "", own: str = SUITE) -> str:
    """A histogram's mean: sum over count, never a mean of means."""
    return f"{per_s(histogram + '_sum', *matchers, by=by, own=own)} / {per_s(histogram + '_count', *matchers, by=by, own=own)}"


def buckets(histogram: str, *matchers: str, own: str = SUITE) -> str:
    """A histogram's buckets over all processes, for a heatmap."""
    return per_s(histogram + "_bucket", *matchers, by="le", own=own)


def _sum(by: str) -> str:
    return f"sum by ({by})" if by else "sum"
