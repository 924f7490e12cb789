"""`touchstone schemas`: JSON Schemas of events and reports, and the AsyncAPI document."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import ConfigOption, fail, one_line_errors, settings_from, until_read_no_more

if TYPE_CHECKING:
    from touchstone.ops.contracts import Contract


@app.command()
def schemas(
    name: Annotated[str | None, typer.Argument(help="The document to print. Default: list them.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder to write all of them to, or the one named.", show_default=False)
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Print the JSON Schema (2020-12) of an event or a report, or the AsyncAPI 3 document of all topics.

    They cover every installed suite; topic names in the AsyncAPI document are those of the settings, and so are the stages that suites hand cases on to.

    Example: touchstone schemas result > result.schema.json
    """
    from touchstone.ops.contracts import written

    with one_line_errors():
        documents = _documents(config, beside_schemas=output is not None and name is None)
    if name is not None and name not in documents:
        fail(f"there is no schema {name}; `touchstone schemas` lists them")
    chosen = documents if name is None else {name: documents[name]}
    if output is not None:
        _write(output, chosen)
        return
    with until_read_no_more():
        if name is not None:
            typer.echo(written(documents[name].document), nl=False)
            return
        width = max(map(len, documents))
        for contract in documents.values():
            typer.echo(f"{contract.name:<{width}}  {contract.what}")


def _documents(config: Path | None, *, beside_schemas: bool) -> "dict[str, Contract]":
    """Name → document. `beside_schemas`: the schemas are written to the same folder, and the AsyncAPI document refers to their files."""
    from touchstone.ops.contracts import ASYNCAPI, Contract, asyncapi, contracts

    topics = asyncapi(settings_from(config), env=os.environ, beside_schemas=beside_schemas)
    documents = [*contracts(), Contract(ASYNCAPI, "the AsyncAPI document of all topics", topics)]
    return {contract.name: contract for contract in documents}


def _write(folder: Path, documents: "dict[str, Contract]") -> None:
    """Write one file per document. Ends with exit 3 if the folder cannot be written."""
    from touchstone.ops.contracts import written
    from touchstone.ops.reports.files import check_directory, write_whole

    with one_line_errors():
        check_directory(folder, "--output")
        for contract in documents.values():
            write_whole(folder / f"{contract.name}.json", written(contract.document))
    typer.echo(f"{len(documents)} document{'' if len(documents) == 1 else 's'} written to {folder}", err=True)
