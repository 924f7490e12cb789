"""The runners that chaos and benchmarks drive: those of `touchstone worker --runner`, and Faust with its own fetcher."""

#: `faust-stock`: `--runner faust` with `worker.faust_fetcher` stock.
RUNNERS = ("faust", "faust-stock", "direct")


def runner_of(name: str) -> tuple[str, dict[str, str]]:
    """What `--runner` takes, and the variables beside it."""
    return ("faust", {"TOUCHSTONE_WORKER_FAUST_FETCHER": "stock"}) if name == "faust-stock" else (name, {})
