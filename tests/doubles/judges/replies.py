"""Replies of the server: the content, its change by a fault, and the documents of the protocol around it."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tests.doubles.judges.asked import Asked
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.samples import differing, sample

#: What a token is held to be; the figures of `usage` follow from it.
CHARACTERS_PER_TOKEN = 4
_PIECE_CHARACTERS = 24
_DEPTH = 100_000
#: The line that is asked for above a verdict in words.
_MARK = re.compile(r"below a line `(VERDICT [0-9a-f]+)`")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a script answers. `content`: a mapping is the verdict, in the form that the request wants; a string is said as it is; None is the schema's sample.

    `fault`: of this reply; it comes before those of the server. `decoy`: the verdict that a repeated one puts first.
    `latency_s`: instead of the server's. `tokens`: what `usage` says, in and out, instead of the estimate.
    """

    content: Mapping[str, Any] | str | None = None
    fault: Fault | None = None
    decoy: Mapping[str, Any] | None = None
    latency_s: float | None = None
    tokens: tuple[int, int] | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What the model says. `calls`: arguments of the function that it calls, once for each call."""

    content: str | None
    calls: tuple[str, ...] = ()
    refusal: str | None = None
    finish_reason: str = "stop"
    has_choice: bool = True

    @property
    def characters(self) -> int:
        """Its length."""
        return len(self.content or self.refusal or "") + sum(map(len, self.calls))


def message_of(asked: Asked, reply: Reply, fault: Fault | None) -> Message:
    """The message with a reply, changed by a fault of the model's answer; other faults do not change it."""
    said = reply.content
    if said is None:
        said = sample(asked.schema) if asked.schema else ({} if asked.form == "json_object" else "sample")
    if isinstance(said, str):
        texts, as_calls = [said], False
    else:
        texts, as_calls = [_json(said)], asked.form == "tool"
        if not as_calls and (mark := _MARK.search(asked.last)) is not None:
            texts = [f"{mark[1]}\n{texts[0]}"]  # asked for in words: as a model that heeds them
    if fault is not None:
        changed = _changed(asked, reply, fault, said, texts[0])
        if isinstance(changed, Message):
            return changed
        texts = list(changed)
    message = Message(None, tuple(texts), finish_reason="tool_calls") if as_calls else Message("\n\nOn reflection:\n\n".join(texts))
    if fault is not None and fault.kind is Kind.TRUNCATED:
        message = replace(message, finish_reason="length")
    if reply.finish_reason is not None:
        return replace(message, finish_reason=reply.finish_reason)
    # So many brackets only come from a server that keeps no bounds.
    return message if fault is not None and fault.kind is Kind.NESTED else _within(message, asked.tokens_max)


def _changed(asked: Asked, reply: Reply, fault: Fault, said: Mapping[str, Any] | str, text: str) -> Message | Sequence[str]:
    match fault.kind:
        case Kind.REFUSAL:
            return Message(None, refusal="I'm sorry, I can't assist with that request.")
        case Kind.CONTENT_FILTER:
            return Message("", finish_reason="content_filter")
        case Kind.EMPTY:
            return Message("")
        case Kind.NO_CHOICES:
            return Message(None, has_choice=False)
        case Kind.BAD_JSON:
            return [text[:-1] + ",,]" if text else "{"]
        case Kind.WRONG_FORM:
            return ['{"thoughts":"The answer is of another form.","number":[1,2,3]}']
        case Kind.TRUNCATED:
            return [text[: max(1, len(text) // 2)]]
        case Kind.NESTED:
            return ['{"a":' * _DEPTH + "1" + "}" * _DEPTH]
        case Kind.LONE_SURROGATE:
            return [_json(_with_surrogates(said)).replace("SURROGATE", r"\ud83d")]
        case Kind.CHATTY:
            return [f"Let me look at this case.\n\n```json\n{text}\n```\n\nThat is my verdict."]
        case Kind.REPEATED:
            decoy = reply.decoy if reply.decoy is not None else differing(said, asked.schema)
            return [_json(decoy), text]
        case _:
            return [text]


def _within(message: Message, tokens_max: int | None) -> Message:
    """Cut where the request allows no more."""
    if tokens_max is None or message.characters <= tokens_max * CHARACTERS_PER_TOKEN or message.refusal:
        return message
    most = tokens_max * CHARACTERS_PER_TOKEN
    return replace(message, content=message.content and message.content[:most], calls=tuple(call[:most] for call in message.calls[:1]), finish_reason="length")


def _with_surrogates(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_surrogates(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_surrogates(inner) for inner in value]
    return f"{value}SURROGATE" if isinstance(value, str) else value


def _json(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def tokens_of(asked: Asked, reply: Reply, message: Message) -> tuple[int, int]:
    """Tokens in and out: those of the reply, else an estimate by length."""
    if reply.tokens is not None:
        return reply.tokens
    return -(-len(asked.text) // CHARACTERS_PER_TOKEN), -(-message.characters // CHARACTERS_PER_TOKEN)


def completion(asked: Asked, message: Message, tokens: tuple[int, int] | None) -> bytes:
    """The document of an answer in one piece; `tokens` None leaves usage out."""
    document = _head(asked, "chat.completion")
    whole: dict[str, Any] = {"role": "assistant", "content": message.content, "refusal": message.refusal, "annotations": []}
    if message.calls:
        whole["tool_calls"] = _calls(asked, message)
    document["choices"] = [{"index": 0, "message": whole, "logprobs": None, "finish_reason": message.finish_reason}] if message.has_choice else []
    if tokens is not None:
        document["usage"] = _usage(tokens)
    return orjson.dumps(document)


def events(asked: Asked, message: Message, tokens: tuple[int, int] | None) -> list[bytes]:
    """The server-sent events of an answer that comes piece by piece."""
    head = _head(asked, "chat.completion.chunk")
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": None if message.calls else ""}, None)]
    deltas += [({"content": piece}, None) for piece in _split(message.content or "")]
    deltas += [({"refusal": piece}, None) for piece in _split(message.refusal or "")]
    for number, call in enumerate(_calls(asked, message)):
        arguments = call["function"]["arguments"]
        deltas.append(({"tool_calls": [{**call, "index": number, "function": {**call["function"], "arguments": ""}}]}, None))
        deltas += [({"tool_calls": [{"index": number, "function": {"arguments": piece}}]}, None) for piece in _split(arguments)]
    deltas.append(({}, message.finish_reason))
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]} for delta, reason in deltas]
    if not message.has_choice:
        chunks = [{**head, "choices": []}]
    if tokens is not None and (asked.body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": _usage(tokens)})
    return [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]


def models(names: Sequence[str]) -> bytes:
    """The document of the models that there are."""
    return orjson.dumps({"object": "list", "data": [{"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "touchstone"} for name in names]})


def _head(asked: Asked, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{asked.digest}{asked.number:08d}",
        "object": kind,
        "created": int(time.time()),
        "model": asked.model,
        "system_fingerprint": "fp_scripted",
        "service_tier": "default",
    }


def _calls(asked: Asked, message: Message) -> list[dict[str, Any]]:
    name = str((asked.tool or {}).get("name", ""))
    return [
        {"id": f"call_{asked.digest}{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, arguments in enumerate(message.calls)
    ]


def _usage(tokens: tuple[int, int]) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "total_tokens": sum(tokens),
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    }


def _split(text: str) -> list[str]:
    return [text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS)]
