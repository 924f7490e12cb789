"""A server that speaks the OpenAI protocol on loopback: scripted answers, faults, and a record of the requests."""

from tests.doubles.judges.asked import Asked
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.process import JudgeProcess
from tests.doubles.judges.replies import Reply
from tests.doubles.judges.script import Rule, Script, read_script
from tests.doubles.judges.seen import Seen
from tests.doubles.judges.server import JudgeServer, Limit

__all__ = ["Asked", "Fault", "JudgeProcess", "JudgeServer", "Kind", "Limit", "Reply", "Rule", "Script", "Seen", "read_script"]
