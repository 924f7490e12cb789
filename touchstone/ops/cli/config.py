"""`touchstone config`: every setting and its source."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, JsonOption, one_line_errors, settings_from

if TYPE_CHECKING:
    from touchstone.schemas.settings.house import Settings

config_app = Group(name="config", help="Show the settings.", no_args_is_help=True)
app.add_typer(config_app)

HIDDEN = "(set, not shown)"


@config_app.callback()
def group() -> None:
    """Show the settings."""


@config_app.command()
def show(as_json: JsonOption = False, config: ConfigOption = None, bootstrap: BootstrapOption = None) -> None:
    """Print every setting with its value and its source; secrets are not shown.

    Precedence: command line, then environment (TOUCHSTONE_SECTION_FIELD, KAFKA_FIELD), then the settings file, then the
    default. The suites' own settings follow.

    Example: touchstone config show | grep -v default
    """
    settings = settings_from(config, bootstrap)
    with one_line_errors():
        rows = explained(settings, config, bootstrap)
        suites = suite_rows()
    if as_json:
        document: dict[str, Any] = {"settings": rows, "suites": suites}
        typer.echo(json.dumps(document, indent=2))
        return
    name_width = max(len(row["name"]) for row in rows)
    value_width = min(44, max(len(row["value"]) for row in rows))
    for row in rows:
        typer.echo(f"{row['name']:<{name_width}}  {row['value']:<{value_width}}  {row['from']}")
    for suite in suites:
        document_name = suite["document"] or "none"
        typer.echo(f"\nsuite {suite['suite']} {suite['version']} (variables {suite['variables']}, document {document_name})")
        for name, value in suite["settings"].items():
            typer.echo(f"  {name}  {json.dumps(value)}")


def explained(settings: "Settings", config: Path | None, bootstrap: str | None) -> list[dict[str, str]]:
    """Each setting as name, value and origin."""
    from touchstone.ops.settings import origins

    origin = origins({"kafka.bootstrap_servers": bootstrap}, env=os.environ, document=config)
    rows = []
    for section in type(settings).model_fields:
        part = getattr(settings, section)
        for name in type(part).model_fields:
            dotted = f"{section}.{name}"
            rows.append({"name": dotted, "value": _shown(dotted, getattr(part, name)), "from": origin.get((section, name), "default")})
    return rows


def suite_rows() -> list[dict[str, Any]]:
    """Every installed suite and its settings. Secrets are pydantic's `SecretStr`, which hides itself."""
    from touchstone.scorers.registry import load_all
    from touchstone.scorers.suite_settings import suite_settings

    return [
        {
            "suite": suite.name,
            "version": suite.version,
            "variables": f"{suite.env_prefix}*" if suite.env_prefix else "none",
            "document": _document(suite.document_name),
            "settings": suite_settings(suite).model_dump(mode="json", by_alias=True),
        }
        for suite in load_all()
    ]


def _document(name: str | None) -> str | None:
    """Path of the suite's settings file, and True if it exists."""
    if name is None:
        return None
    return f"./{name}" if Path(name).exists() else f"./{name}, which is not there"


def _shown(dotted: str, value: Any) -> str:
    """A value for people. A store's URL is shown without its password."""
    from pydantic import SecretStr

    if dotted == "store.url":
        from touchstone.ops.store.engine import shown

        return shown(value.get_secret_value())
    if isinstance(value, SecretStr):
        return HIDDEN
    return "not set" if value is None else str(value)
