"""How to add an extra to this installation. The command depends on how Touchstone was installed: a checkout, a wheel, an image, a package index."""

import json
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "touchstone-stream"
#: Where the Dockerfile puts the packages of an image.
IMAGE_PREFIX = Path("/opt/touchstone")


def install_extras(*extras: str) -> str:
    """What to do about missing extras, for the end of a message: `install the extra judge: make setup (in /home/me/touchstone)`."""
    named = " and ".join(sorted(extras))
    return f"install the extra{'s' if len(extras) > 1 else ''} {named}: {install_command(sorted(extras))}"


def extra_named(extra: str) -> str:
    """The same for results and other texts that leave this machine: nothing about it is in them."""
    return f"install the extra {extra} (pip install '{DISTRIBUTION}[{extra}]', or make setup in a checkout)"


def install_again() -> str:
    """What to do about an installation that lacks files of its own."""
    return f"install Touchstone again: {install_command()}"


def install_command(extras: Sequence[str] = ()) -> str:
    """The command that installs Touchstone here, with these extras."""
    chosen = f"[{','.join(extras)}]" if extras else ""
    if Path(sys.prefix) == IMAGE_PREFIX:
        return f"docker build --build-arg EXTRAS='{' '.join(extras) or '…'}' . (in a checkout; with the extras that the image had)"
    url, is_checkout = _origin()
    place = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
    if place is not None and is_checkout:
        in_its_own_environment = Path(sys.prefix) == place / ".venv"
        return f"make setup (in {place})" if in_its_own_environment else f"pip install -e '{place}{chosen}'"
    if place is not None:
        return f"pip install '{place if place.exists() else place.name}{chosen}'"
    return f"pip install '{DISTRIBUTION}{chosen}{f' @ {url}' if url else ''}'"


def _origin() -> tuple[str, bool]:
    """The address that Touchstone was installed from (PEP 610), empty for a package index; and whether it is a checkout in use (editable)."""
    try:
        written = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        written = None
    found = json.loads(written) if written else {}
    return str(found.get("url", "")), bool(found.get("dir_info", {}).get("editable"))
