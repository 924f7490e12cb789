"""`python -m tests.doubles.judges`: a judge without a model or a key, on loopback, until Ctrl-C."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from tests.doubles.judges.careful_reader import CarefulReader
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.script import Answering, Script, ScriptFile, read_script
from tests.doubles.judges.server import JudgeServer, Limit
from touchstone.ops.lab.losses.truth import truths
from touchstone.scorers.base import ConfigError
from touchstone.scorers.process import end_with_parent

EXAMPLE = """The first line of standard output is the address. The script is JSON:
{"rules": [{"contains": "the sky is green", "answers": [{"support": "contradicted"}]}], "faults": [{"kind": "rate_limited", "share": 0.1, "retry_after_s": 1}]}
The first rule that fits answers; if none does, the answer is the simplest value that the request's JSON schema allows."""


def fault(text: str) -> Fault:
    """A fault on the command line: KIND, or KIND=SHARE."""
    kind, _, share = text.partition("=")
    try:
        return Fault(Kind(kind), share=float(share) if share else None)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no KIND or KIND=SHARE with a share above 0 and up to 1; kinds: {', '.join(Kind)}") from None


async def serve(server: JudgeServer) -> None:
    """Serve until a signal."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await stop.wait()


def main(arguments: list[str] | None = None) -> int:
    """Start it, print its address, and wait. Exit codes: 0 after a signal, 2 for wrong options, 3 if it could not start."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.doubles.judges", description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; default: a free one")
    parser.add_argument("--latency-ms", type=float, default=200.0, help="from a request to its answer (default 200)")
    parser.add_argument("--script", type=Path, help="script file; default: answers made from the request's schema")
    parser.add_argument(
        "--truth", type=Path, action="append", default=[], help="folder of a truth set, whose variants are read as a careful person would; may be repeated"
    )
    parser.add_argument(
        "--fault", type=fault, action="append", default=[], help="KIND, or KIND=SHARE of the requests; may be repeated, comes before the script's"
    )
    parser.add_argument("--limit-per-s", type=float, help="requests a second; the others get a 429 with Retry-After")
    parser.add_argument("--end-with-parent", action="store_true", help="end when the program that started it ends")
    options = parser.parse_args(arguments)
    if options.end_with_parent:
        end_with_parent()
    try:
        script = read_script(options.script) if options.script else ScriptFile()
        answer: Answering = CarefulReader([truth for folder in options.truth for truth in truths(folder)]) if options.truth else Script(*script.rules)
        limit = Limit(options.limit_per_s, max(1, int(options.limit_per_s))) if options.limit_per_s else None
        server = JudgeServer(
            answer,
            faults=[*options.fault, *script.faults],
            latency_s=options.latency_ms / 1000,
            seed=script.seed,
            limit=limit,
            port=options.port,
        )
        with asyncio.Runner(loop_factory=_fast_loop()) as runner:
            runner.run(serve(server))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except OSError as error:
        sys.stderr.write(f"The scripted judge cannot listen on port {options.port}: {error.strerror}. Choose another --port.\n")
        return 3
    return 0


def _fast_loop() -> type[asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.Loop


if __name__ == "__main__":
    raise SystemExit(main())
