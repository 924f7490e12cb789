"""`touchstone queues`: review queues of the result store, links to them, and the guidelines that they are reviewed by."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import ConfigOption, JsonOption, fail, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.store.queue_rows import Definition
    from touchstone.ops.store.results import ResultStore
    from touchstone.schemas.settings.house import Settings

queues = typer.Typer(help="Review queues: draw cases for people to review, and invite reviewers.", no_args_is_help=True)
app.add_typer(queues, name="queues")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and -; it is part of the queue's address.")]


@contextmanager
def _opened(store: str | None, config: Path | None) -> "Iterator[tuple[Settings, ResultStore]]":
    """The settings and the store; errors as one line and exit 3."""
    from touchstone.ops.store.results import ResultStore

    settings = settings_from(config, store__url=store)
    with one_line_errors(), store_errors():
        results = ResultStore.open(settings.store.url.get_secret_value())
        try:
            yield settings, results
        finally:
            results.close()


@queues.command()
def create(
    name: NameArgument,
    filter_: Annotated[str, typer.Option("--filter", help="Which cases: the part of an address of /cases after its question mark.")] = "",
    suite: Annotated[str | None, typer.Option(help="Whose results are reviewed. Default: the suite of the filter.", show_default=False)] = None,
    size: Annotated[int | None, typer.Option(help="How many of the cases that fit, drawn by hash. Default: all.", show_default=False)] = None,
    share: Annotated[float | None, typer.Option(help="This share of those that fit, between 0 and 1.", show_default=False)] = None,
    random_share: Annotated[float, typer.Option(help="Share of the queue that is drawn from all cases of the suite.")] = 0.2,
    random_size: Annotated[int | None, typer.Option(help="How many random cases, in place of a share.", show_default=False)] = None,
    stratify: Annotated[
        Literal["label", "suite", "model"] | None, typer.Option(help="As many cases of each label, suite or model.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws other cases.")] = 0,
    reviewers: Annotated[int, typer.Option(help="Verdicts that a case needs.")] = 1,
    guideline: Annotated[str | None, typer.Option(help="What passes: NAME follows its newest version, NAME@3 stays.", show_default=False)] = None,
    blind: Annotated[bool, typer.Option("--blind/--open", help="Hide scores and others' verdicts until one's own is given.")] = True,
    title: Annotated[str, typer.Option(help="What reviewers read above it.")] = "",
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Draw cases from the store into a queue. Which ones they are never changes afterwards.

    Example: touchstone queues create failed --filter label=Fail --reviewers 2
    """
    from touchstone.ops.store.case_filter import FilterError
    from touchstone.ops.store.guidelines import Guidelines
    from touchstone.ops.store.queues import QueueExists, Queues

    told = {"filter": filter_, "suite": suite, "size": size, "share": share, "random_share": random_share, "random_size": random_size}
    told |= {"stratify": stratify, "seed": seed, "reviewers": reviewers, "guideline": guideline, "blind": blind, "title": title}
    with _opened(store, config) as (_, results):
        definition = _definition(name, told)
        if guideline is not None and Guidelines(results.engine).named(guideline) is None:
            fail(f"--guideline: there is no {guideline}; make it with touchstone queues guideline NAME FILE")
        try:
            row = Queues(results.engine).create(name, definition, datetime.now(UTC))
        except FilterError as error:
            fail(f"--filter: {error}")
        except QueueExists as error:
            fail(str(error))
        counts = Queues(results.engine).counts([row.name])[row.name]
        typer.echo(
            f"{row.name}: {counts.total:,} cases ({counts.arms['chosen']:,} chosen, {counts.arms['random']:,} at random), review pass {row.review_pass}."
        )
        typer.echo(f"Review them at /review/{row.name}; invite somebody with touchstone queues link {row.name} --reviewer WHO.")


def _definition(name: str, told: dict[str, Any]) -> "Definition":
    from pydantic import BaseModel, ValidationError

    from touchstone.ops.store.queue_rows import Definition, QueueName
    from touchstone.schemas.faults import explain

    class Named(BaseModel):
        name: QueueName

    try:
        Named(name=name)
    except ValidationError:
        fail("NAME: write up to 64 lower-case letters, digits and -, a letter or digit first")
    try:
        return Definition(**told)
    except ValidationError as error:
        fail(f"the queue cannot be made: {explain(error, Definition)}")


@queues.command("list")
def listed(as_json: JsonOption = False, store: StoreOption = None, config: ConfigOption = None) -> None:
    """List the queues: how many cases each has, and how far they are.

    Example: touchstone queues list
    """
    import orjson

    from touchstone.ops.store.queues import Queues

    with _opened(store, config) as (_, results):
        rows = Queues(results.engine).all()
        counts = Queues(results.engine).counts([row.name for row in rows])
        if as_json:
            documents = [
                {"name": row.name, **row.definition.model_dump(mode="json"), "arms": counts[row.name].arms, "counts": counts[row.name].states} for row in rows
            ]
            typer.echo(orjson.dumps(documents, option=orjson.OPT_INDENT_2).decode())
            return
        for row in rows:
            states = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in counts[row.name].states.items() if count)
            typer.echo(f"{row.name}: {counts[row.name].total:,} cases; {states or 'none left'}")
        if not rows:
            typer.echo("There are no queues; make one with touchstone queues create NAME --filter label=Fail")


@queues.command()
def link(
    name: NameArgument,
    reviewer: Annotated[str, typer.Option(help="Who reviews: a name without line ends.")],
    days: Annotated[float, typer.Option(min=0.001, max=90, help="How long the link is good.")] = 7,
    url: Annotated[
        str | None, typer.Option(help="Address of the service, such as https://watch.example.org. Default: of serve.host.", show_default=False)
    ] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="First make all earlier links to this queue useless.")] = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Print a link that opens one queue for one reviewer, texts included, and nothing else. Send it to nobody else.

    Example: touchstone queues link failed --reviewer ann
    """
    from touchstone.ops.store.queues import Queues
    from touchstone.ops.web.links import Linked, Signer

    if not reviewer.isprintable() or not 0 < len(reviewer) <= 256:
        fail("--reviewer: give a name of at most 256 printable characters")
    if url is not None and (urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc):
        fail("--url: give the address of the service, such as https://watch.example.org")
    with _opened(store, config) as (settings, results):
        if revoke:
            Queues(results.engine).renew_links(name)
        row = Queues(results.engine).get(name)
        if row is None:
            fail(f"there is no queue {name}; touchstone queues list names them")
        signer = Signer(settings.serve.grants())
        expires = int(datetime.now(UTC).timestamp() + days * 86_400)
        token = signer.signed(Linked(row.name, reviewer, expires), row.link_key)
        base = url.rstrip("/") if url else f"http://{settings.serve.host}:{settings.serve.port}"
        typer.echo(f"{base}/review/{row.name}#link={token}")
        if not signer.is_enforced:
            typer.echo("serve.tokens is empty: whoever reaches the service sees everything, with or without this link.", err=True)


@queues.command()
def guideline(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print its newest text; with a file, add a version.", show_default=False)] = None,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The text, such as a Markdown file.", show_default=False)] = None,
    by: Annotated[str, typer.Option(help="Who wrote it.")] = "",
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """List guidelines, print one, or add a version of it. Earlier versions stay, because annotations name them.

    Example: touchstone queues guideline labs labs.md --by ann
    """
    import re

    from touchstone.ops.store.guidelines import Guidelines, TooManyGuidelines
    from touchstone.ops.store.queue_rows import GUIDELINE_CHARS_MAX, NAME

    with _opened(store, config) as (_, results):
        guidelines = Guidelines(results.engine)
        if name is None:
            for one in guidelines.newest():
                typer.echo(f"{one.name}@{one.version}")
            return
        if file is None:
            found = guidelines.named(name)
            if found is None:
                fail(f"there is no guideline {name}; add it with touchstone queues guideline NAME FILE")
            typer.echo(found.text)
            return
        if not re.fullmatch(NAME, name):
            fail("NAME: write up to 64 lower-case letters, digits and -, a letter or digit first")
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            fail(f"{file} cannot be read ({getattr(error, 'strerror', None) or 'it is not UTF-8'}); give a text file")
        if not 0 < len(text) <= GUIDELINE_CHARS_MAX or "\0" in text:
            fail(f"{file} must have 1 to {GUIDELINE_CHARS_MAX:,} characters, and no null character")
        try:
            saved = guidelines.save(name, text, by, datetime.now(UTC))
        except TooManyGuidelines:
            fail("there are too many guidelines, or others change this one now; try again")
        typer.echo(f"{saved.name}@{saved.version}")
