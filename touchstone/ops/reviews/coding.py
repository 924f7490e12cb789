"""Files of categories of failure: see `touchstone.scorers.calibration.failure_coding` for what is in them."""

from pathlib import Path
from typing import Final

import orjson
from pydantic import ValidationError

from touchstone.schemas.faults import explain
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.failure_coding import Categories

FILE_BYTES_MAX: Final = 67_108_864


def read_categories(path: Path) -> Categories:
    """Read a file of categories. Raises `ConfigError`."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path} has more than {FILE_BYTES_MAX:,} bytes")
        return Categories.model_validate(orjson.loads(path.read_bytes()))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); `touchstone errors propose` writes such a file") from None
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path} is not JSON (line {error.lineno})") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, Categories)}") from None
