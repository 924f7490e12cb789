"""Whether a prompt states a hospital stay or an emergency visit, and which encounters are one."""

import re
from typing import Final

#: A stay or a visit that a prompt names.
_STAY: Final = re.compile(
    r"\bhospitali[sz](?:ed|ations?)\b|\badmitted (?:to|at|in) (?:the |a )?(?:hospital|icu|intensive care|ward|inpatient)"
    r"|\badmitted (?:for|with|after|following|due to|because of)\b|\bhospital (?:stay|admission)s?\b"
    r"|\bdischarged from (?:the |a )?hospital\b|\binpatient (?:stay|admission)"
    r"|\b(?:icu|intensive care) (?:stay|admission)s?\b|\bin the (?:icu|intensive care)\b"
    r"|\b(?:emergency (?:department|room)|er|ed) visits?\b"
    r"|\b(?:seen|presented|treated|presents|presenting) (?:in|at|to) the (?:emergency|er\b|ed\b)"
)
#: Words before it that deny it, or leave it open.
_DENIED: Final = re.compile(
    r"\b(?:never|no|not|without|avoid\w*|prevent\w*|reduce|risk|denies|denied|if|may (?:be|have|need|require)|might|would|considered|considering"
    r"|rather than|instead of)\b"
)
#: The same behind it: "admission was considered but not needed".
_DENIED_AFTER: Final = re.compile(
    r" (?:(?:was|were|is|are|has been|had been) )?(?:considered|offered|discussed|declined|refused|deferred|avoided|denied"
    r"|(?:not|never) (?:needed|required|necessary|indicated|warranted)|unnecessary)\b"
)
#: Where another statement begins, which a denial before it says nothing of.
_NEXT: Final = re.compile(r"[.;:!?]|\bbut\b|\band (?=(?:was|were|is|has|had|got|then|recently|later|required|spent)\b)")
#: Words of an encounter that is one.
STAY_TYPE: Final = re.compile(
    r"\b(inpatient|hospital\w*|admission|admitted|emergency|er|ed|icu|intensive|imp|emer|acute|acutecare|acute care|surgery|observation|obsenc)\b"
)


def is_stay_stated(prompt: str) -> bool:
    """True if a prompt states a stay, and no word around it denies it."""
    for found in _STAY.finditer(prompt):
        before = _NEXT.split(prompt[max(0, found.start() - 60) : found.start()])[-1]
        if not _DENIED.search(before) and not _DENIED_AFTER.match(prompt, found.end()):
            return True
    return False
