"""Names of drugs, by their endings and from a short list; a brand name counts as its substance."""

import re

from touchstone.scorers.summary.word_lists import rows

_ENDINGS = re.compile(
    r"[a-z]{2,}(?:mab|cillin|pril|sartan|statin|olol|dipine|azole|prazole|tidine|mycin|micin|floxacin|cycline|xaban|gatran|parin|gliptin|gliflozin|glutide|formin|glitazone|zepam|zolam"
    r"|oxetine|triptyline|semide|thiazide|tinib|ciclib|parib|vudine|ciclovir|navir|tegravir|buvir|setron|triptan|azepam|caine|dronate|lukast|terol|tropium|curium|curonium|barbital|oxazole)"
)
_CEPHALOSPORIN = re.compile(r"(?:cef|ceph)[a-z]{4,}")
_NOT_DRUGS = frozenset({"cocaine", "cholesterol"})
_BY_NAME = {name: line.split()[0] for line in rows(__file__, "drugs") for name in line.split()}


def drug(word: str) -> str | None:
    """The drug that a folded word names, None if it names none."""
    if word in _BY_NAME:
        return _BY_NAME[word]
    if len(word) >= 6 and word not in _NOT_DRUGS and (_ENDINGS.fullmatch(word) or _CEPHALOSPORIN.fullmatch(word)):
        return word
    return None
