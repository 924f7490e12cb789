"""`touchstone queues` on a store: queues are made and listed, and the service takes the links that it prints."""

import json
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from tests.ops.store.histories import add, scored
from touchstone.ops.store.queues import Queues
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.links import Signer, read_link
from touchstone.schemas.settings.house import ServeSettings

TOKEN = "all/admin:token-of-an-admin----"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Ten cases, two of which failed."""
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    opened = ResultStore.open(url, create=True)
    add(opened, *(scored(f"e-{n}", n, suite="one", label="Fail" if n % 5 == 0 else "Pass") for n in range(10)))
    opened.close()
    return url


def test_a_queue_is_made_listed_and_opened_by_a_link(commands: Commands, store: str, tmp_path: Path) -> None:
    (tmp_path / "labs.md").write_text("Each condition has its lab.\n")
    assert commands("queues", "guideline", "labs", "labs.md", "--store", store).out == "labs@1\n"
    made = commands("queues", "create", "failed", "--filter", "label=Fail", "--suite", "one", "--random-size", "3", "--guideline", "labs", "--store", store)
    assert (made.code, "at random), review pass 1." in made.out) == (0, True)
    assert "cases; " in commands("queues", "list", "--store", store).out
    (listed,) = json.loads(commands("queues", "list", "--json", "--store", store).out)
    assert (listed["name"], listed["arms"]["random"], listed["guideline"]) == ("failed", 3, "labs")
    assert commands("queues", "guideline", "labs@1", "--store", store).out.strip() == "Each condition has its lab."
    assert commands("queues", "guideline", "--store", store).out == "labs@1\n"
    made = commands("queues", "link", "failed", "--reviewer", "ann", "--store", store, env={"TOUCHSTONE_SERVE_TOKENS": TOKEN})
    address, _, token = made.out.strip().partition("#link=")
    assert (address, made.err) == ("http://127.0.0.1:8321/review/failed", "")
    found = read_link(token)
    opened = ResultStore.open(store)
    row = Queues(opened.engine).get("failed")
    opened.close()
    assert found is not None
    assert row is not None
    assert Signer(ServeSettings(tokens=(TOKEN,)).grants()).is_valid(*found, row.link_key, found[0].expires - 1)
    again = commands("queues", "link", "failed", "--reviewer", "ann", "--revoke", "--url", "https://watch.example.org/", "--store", store)
    assert (again.out.startswith("https://watch.example.org/review/failed#link="), "serve.tokens is empty" in again.err) == (True, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["create", "Bad Name"], "NAME"), (["create", "q", "--filter", "colour=red"], "--filter"), (["create", "q", "--filter", "label=Warn"], "no case fits"),
     (["create", "q", "--share", "2"], "share must be less than or equal to 1"), (["create", "q", "--guideline", "none"], "--guideline"),
     (["link", "none", "--reviewer", "ann"], "no queue"),
     (["link", "none", "--reviewer", "ann", "--url", "watch.example.org"], "--url"),
     (["create", "q", "--stratify", "colour"], "'label', 'suite'"),
     (["guideline", "none"], "no guideline"), (["guideline", "labs", "missing.md"], "missing.md")],
)  # fmt: skip
def test_a_mistake_is_one_line_and_exit_3(commands: Commands, store: str, arguments: list[str], says: str) -> None:
    ran = commands("queues", *arguments, "--store", store, *(["--random-size", "0"] if arguments[0] == "create" else []))
    assert (ran.code, says in ran.one_line) == (3, True)
