"""`python -m touchstone.ops.verify.fhir_validator`: the official validator in the foreground, until Ctrl-C."""

import argparse
import signal
import sys
from pathlib import Path

from touchstone.ops.verify.fhir_validator.server import FhirValidator
from touchstone.scorers.base import ConfigError


def main(arguments: list[str] | None = None) -> int:
    """Start it, say where it listens, and wait."""
    parser = argparse.ArgumentParser(
        prog="python -m touchstone.ops.verify.fhir_validator", description="Serve the official FHIR validator on loopback, offline."
    )
    parser.add_argument("--port", type=int, default=0, help="port; default: a free one")
    parser.add_argument("--packages", type=Path, action="append", default=[], help="folder with FHIR packages, asked before ~/.fhir/packages and npm")
    parser.add_argument("--guide", type=Path, action="append", default=[], help="package of an implementation guide that it is to know (US Core: .tgz)")
    options = parser.parse_args(arguments)
    server = FhirValidator(packages=options.packages, known=options.guide, port=options.port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.start()
        sys.stdout.write(f"POST a resource to http://127.0.0.1:{server.port}/validateResource (process {server.pid}; Ctrl-C ends it)\n")
        sys.stdout.flush()
        signal.pause()
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except KeyboardInterrupt:
        return 0
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
