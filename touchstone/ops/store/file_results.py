"""Results of files in the store: they are on no topic, so no account and no batch report counts them."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Engine, select

from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.schema import results
from touchstone.ops.store.writes import write_results
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.suite import Suite
from touchstone.streams.account.projection import read_result
from touchstone.streams.wire.codec import encode_result

_IDS_AT_A_TIME = 500


def known_results(engine: Engine, ids: Iterable[str]) -> set[str]:
    """Those of the ids whose results the store has."""
    wanted = sorted(set(ids))
    found: set[str] = set()
    with reading(engine) as connection:
        for first in range(0, len(wanted), _IDS_AT_A_TIME):
            query = select(results.c.result_id).where(results.c.result_id.in_(wanted[first : first + _IDS_AT_A_TIME]))
            found.update(connection.execute(query).scalars())
    return found


def write_file_results(engine: Engine, scored: Sequence[ScoreResult], suites: Mapping[str, Suite]) -> None:
    """Write results, in one transaction. One that is there already stays. Raises `Unreadable` for one that no column can hold."""
    rows = [read_result(encode_result(one)[1], suites, of_file=True) for one in scored]
    if rows:
        with writing(engine) as connection:
            write_results(connection, rows)
