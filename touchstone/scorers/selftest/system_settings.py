"""Where the system under test is and how it is asked: the part `system` of the self-test's file. See docs/selftest-systems.md."""

import re
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from touchstone.scorers.selftest.template import ASKING, NAMES, path_of, places

AWAITING, COMPLETE = "AWAITING_RESPONSE", "COMPLETE"
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
#: Statuses as systems write them: COMPLETE, AWAITING_RESPONSE, ERROR.
Status = Annotated[str, Field(pattern=r"^[A-Z][A-Z_]{0,39}$")]
#: The name of a topic for self-tests alone; no production topic has such a name by accident.
SelftestTopic = Annotated[str, Field(max_length=249, pattern=r"^([a-zA-Z0-9._-]+\.)?selftest([._-][a-zA-Z0-9._-]+)?$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_]\w{0,63}$")]
#: Headers whose value is a secret: it comes from the environment.
_SECRET: Final = re.compile(r"auth|key|token|secret|cookie|password|credential", re.IGNORECASE)
#: The same of names in a URL's query, where `max_tokens` and `keyword` are none.
_SECRET_IN_QUERY: Final = re.compile(r"(?:auth|key|token|secret|password|credential|signature|sig)$", re.IGNORECASE)
#: Headers that follow from the request itself.
_MADE: Final = frozenset({"content-length", "transfer-encoding"})
#: The name of an environment variable in a header's value or a query.
VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _is_path(text: str) -> str:
    path_of(text)
    return text


JsonPath = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_is_path)]


class Strict(BaseModel):
    """A part of the file: unknown keys and values of another type are refused, and errors never quote values."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class HttpSystem(Strict):
    """A system behind HTTP. `{task_id}` in a path is the task's. `token_variable`: environment variable with its bearer token."""

    adapter: Literal["http"]
    url: str = Field(pattern=r"^https?://[^\s?#]+$", max_length=2_000)
    submit_path: str = Field("/tasks", pattern=r"^/\S*$")
    status_path: str = Field("/tasks/{task_id}", pattern=r"^/\S*$")
    reply_path: str = Field("/tasks/{task_id}/reply", pattern=r"^/\S*$")
    poll_interval_seconds: Seconds = 0.5
    token_variable: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")


class PythonSystem(Strict):
    """A function in this process: `package.module:function`, with or without `async`."""

    adapter: Literal["python"]
    function: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", max_length=300)


class KafkaSystem(Strict):
    """A system that reads requests from one topic and writes replies to another. Both must be of the self-test's own: a part of their names says so."""

    adapter: Literal["kafka"]
    request_topic: SelftestTopic = "selftest.requests"
    reply_topic: SelftestTopic = "selftest.replies"

    @model_validator(mode="after")
    def _two_topics(self) -> Self:
        """Requests that are read as replies would answer themselves."""
        if self.request_topic == self.reply_topic:
            raise ValueError("request_topic and reply_topic are the same; name two topics")
        return self


class Templated(Strict):
    """A system that gets each turn as one request and gives its answer at once.

    `answer`: path of the answer in its JSON; null: everything that it sends is the answer. `status`: path of a status, and `statuses` what its words mean
    here; without it an answer is COMPLETE, or with `question_awaits` AWAITING_RESPONSE if it ends with a question. `carry`: name → path; the value there
    fills the place of that name in the next turn's template, null in the first turn's.
    """

    answer: JsonPath | None = None
    status: JsonPath | None = None
    statuses: dict[str, Status] = Field(default_factory=dict, max_length=50)
    question_awaits: bool = False
    carry: dict[Name, JsonPath] = Field(default_factory=dict, max_length=20)

    def _check_places(self, *templates: Any) -> None:
        """Refuse unknown places, a template that asks nothing, and paths into what is not read as JSON."""
        if self.answer is None and (self.status is not None or self.carry):
            raise ValueError("status and carry are paths into a JSON answer; give the answer's path too ($ is the whole)")
        if taken := sorted(self.carry.keys() & set(NAMES)):
            raise ValueError(f"carry: {taken[0]} has a meaning of its own; take another name")
        used = {place for template in templates for place in places(template)}
        if unknown := sorted(used - {*NAMES, *self.carry}):
            raise ValueError(f"{{{{{unknown[0]}}}}} is no place; known: {', '.join([*NAMES, *self.carry])}")
        if not used & ASKING:
            raise ValueError("the request is sent nowhere; write {{prompt}}, {{messages}} or {{conversation}} where it belongs")


class RequestSystem(Templated):
    """A system behind HTTP that gets one request a turn (ours): `method` and `url` with a `body` made from a template.

    Values in `headers` and in the URL's query may hold `${NAME}` of an environment variable, and those of credentials must. `body`: by default
    `{"prompt": "{{prompt}}"}`; none with GET. Places and variables in the URL are percent-encoded.
    """

    adapter: Literal["request"]
    url: str = Field(pattern=r"^https?://[^\s#]+$", max_length=2_000)
    method: Literal["POST", "PUT", "GET"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, max_length=50)
    body: JsonValue = None

    @model_validator(mode="after")
    def _can_be_sent(self) -> Self:
        """Refuse what could not be sent, and secrets in the file."""
        parts = urlsplit(self.url)
        if "@" in parts.netloc:
            raise ValueError("url holds a user or password; send them in a header from the environment: Authorization: ${NAME}")
        if "{{" in parts.netloc:
            raise ValueError("url: a place in the host is not filled; write it in the path or query")
        if any(_SECRET_IN_QUERY.search(name) and not (VARIABLE.search(value) or "{{" in value) for name, value in parse_qsl(parts.query)):
            raise ValueError("url: a credential is in the query; name the environment variable that holds it: ${NAME}")
        if self.method == "GET" and self.body is not None:
            raise ValueError("a GET has no body; write the places in the url")
        for name, value in self.headers.items():
            if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", name):
                raise ValueError("headers: a name has characters that cannot be sent")
            if name.lower() in _MADE:
                raise ValueError(f"headers.{name}: follows from the request; leave it out")
            if _SECRET.search(name) and not VARIABLE.search(value):
                raise ValueError(f"headers.{name}: is a credential; name the environment variable that holds it: ${{NAME}}")
        self._check_places(self.url, self.template)
        return self

    @property
    def template(self) -> JsonValue:
        """The body's template; None without a body."""
        return {"prompt": "{{prompt}}"} if self.body is None and self.method != "GET" else self.body


class CommandSystem(Templated):
    """A program that is started for each turn (ours), without a shell. It reads `input` and writes its answer to standard output.

    `command`: program and arguments, which may have places. `input`: a text as it is, any other value as JSON; null: nothing.
    """

    adapter: Literal["command"]
    command: list[Annotated[str, Field(max_length=4_000)]] = Field(min_length=1, max_length=100)
    input: JsonValue = "{{prompt}}"

    @model_validator(mode="after")
    def _asks(self) -> Self:
        """Refuse unknown places, and a program that is not told what to answer."""
        if next(places(self.command[0]), None) is not None or not self.command[0].strip():
            raise ValueError("command: the first part is the program; places belong into its arguments")
        self._check_places(self.command, self.input)
        return self


SystemSettings = Annotated[HttpSystem | RequestSystem | CommandSystem | PythonSystem | KafkaSystem, Field(discriminator="adapter")]
