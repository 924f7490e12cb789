"""A server that speaks the OpenAI protocol on loopback: scripted answers, faults at will, and a record of what was asked."""

from touchstone.ops.verify.judges.asked import Asked
from touchstone.ops.verify.judges.faults import Fault, Kind
from touchstone.ops.verify.judges.process import JudgeProcess
from touchstone.ops.verify.judges.replies import Reply
from touchstone.ops.verify.judges.script import Rule, Script, read_script
from touchstone.ops.verify.judges.seen import Seen
from touchstone.ops.verify.judges.server import JudgeServer, Limit

__all__ = ["Asked", "Fault", "JudgeProcess", "JudgeServer", "Kind", "Limit", "Reply", "Rule", "Script", "Seen", "read_script"]
