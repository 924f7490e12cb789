"""Faust used as one would at first sight: the forms that lose events, run as `python -m tests.integration.naive_faust FORM …`.

Runs until it is killed, which is what a restart in the midst of work would see; it ends by itself where nobody does.
"""

import asyncio
import os
import sys
from typing import Any

import faust

#: Starting and working take two seconds on a quiet machine.
RUN_S = 90.0


async def main(form: str, bootstrap: str, source_name: str, out_name: str, group: str, datadir: str) -> None:
    app = faust.App(
        group,
        broker=f"kafka://{bootstrap}",
        broker_commit_interval=0.2,
        consumer_auto_offset_reset="earliest",
        topic_disable_leader=True,
        topic_allow_declare=False,
        stream_wait_empty=False,
        web_enabled=False,
        autodiscover=False,
        store="memory://",
        datadir=datadir,
    )
    source = app.topic(source_name, value_serializer="json" if form == "decode" else "raw", value_type=None if form == "decode" else bytes)
    out = app.topic(out_name, value_serializer="raw", value_type=bytes)
    slow = asyncio.Event()

    if form == "sink":

        @app.agent(source, sink=[out])
        async def answer(stream: Any) -> Any:
            async for value in stream:
                yield value

    elif form == "concurrent":

        @app.agent(source, concurrency=4)
        async def overtake(stream: Any) -> None:
            async for value in stream:
                if value.endswith(b'"0"'):
                    await slow.wait()  # the first event of all takes for ever
                await out.send(value=value)

    else:

        @app.agent(source)
        async def fail(stream: Any) -> None:
            async for value in stream:
                if form == "exception" and value.endswith(b'"3"'):
                    raise ZeroDivisionError
                await (await out.send(value=value if isinstance(value, bytes) else b"decoded"))

    starting = asyncio.create_task(app.start())
    await asyncio.sleep(RUN_S)
    starting.cancel()
    sys.stdout.flush()
    os._exit(1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
