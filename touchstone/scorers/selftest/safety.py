"""The safety screen: refuses a request that asks a system to act instead of asking for information.

It errs on the side of refusing. A refused request costs one more question to the generator; a dangerous one that gets through
reaches a system. It looks for verbs in the imperative, unless they are negated ("do not delete"), and for words that
have no place in a request for information (a shell command, an address, a key), negated or not.
"""

import re
import unicodedata
from typing import Final, Literal

Rule = Literal["deletion", "file_change", "shell", "network", "credentials", "execution", "disguise", "not_english"]

#: Refused wherever they occur.
_ANYWHERE: Final[tuple[tuple[Rule, re.Pattern[str]], ...]] = (
    (
        "shell",
        re.compile(
            r"\brm\s+-|\bsudo\b|\bchmod\b|\bchown\b|\bmkfs|\bdd\s+if=|\bpowershell\b|\b(?:ba|z)?sh\s+-c\b|\|\s*(?:ba|z)?sh\b|:\(\)\s*\{|\breverse shell\b"
            r"|\bkill\s+-\d|\bgit\s+(?:push|reset|clean|commit|rebase|checkout)\b|&&|\$\(|>\s*/dev/"
        ),
    ),
    ("execution", re.compile(r"\bos\.system\b|\bsubprocess\b|\beval\s*\(|\bexec\s*\(|__import__|\bimport\s+(?:os|sys|socket|shutil)\b|\bcron(?:tab| job)\b")),
    ("deletion", re.compile(r"\b(?:drop|truncate)\s+(?:table|database|schema)\b|\bdelete\s+from\b|\balter\s+table\b|\brmdir\b|\bdel\s+/")),
    (
        "network",
        re.compile(
            r"\b(?:https?|ftp|ssh|wss?|file)://|\b(?:curl|wget|netcat|telnet|scp|rsync)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w-]+\.(?:com|org|net|io|dev)\b"
        ),
    ),
    (
        "credentials",
        re.compile(
            r"\bid_rsa\b|(?<![\w/])\.env\b|\.ssh\b|/etc/|/proc/"
            r"|(?<![\w.])/(?:root|home|var|usr|opt|tmp|users)\b|\bapi[_ -]?keys?\b|\bsecret[_ -]?keys?\b|\bprivate[_ -]?keys?\b"
            r"|\bdefault credentials\b|\b[a-z]+_(?:token|secret|password)\b"
        ),
    ),
)


def _any(words: str) -> str:
    """A regex group that matches one of the words; `_` is a blank inside a word."""
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + ")"


#: Personal data, which a question about documents does not need.
_RECORDS: Final = re.compile(
    r"\b(?:customer|patient|user|client|employee)s? (?:database|table|records?|data)\b|\b(?:rows|lines|records|entries) of the [\w ]*(?:database|table)\b"
)
_SECRETS: Final = r"(?:passwords?|passphrases?|credentials?|secrets?|tokens?|environment variables?|env vars?)\b"
_TELL: Final = _any(
    "give show print reveal tell quote list read dump expose return leak display output copy share send repeat find get extract what(?:_is|'s|_are)"
)
#: Requests for a secret itself. A question about its handling is allowed ("explain how tokens are rotated").
_SECRET_ASKED: Final = re.compile(rf"\b{_TELL}\b(?![^.?!]*\b(?:how|whether|why|where|who|when|what an?)\b[^.?!]*{_SECRETS})[^.?!]{{0,80}}\b{_SECRETS}")

#: "Change nothing" is not an order to act.
_NOTHING: Final = r"(?!\s+(?:nothing|no\b|none|neither|anything only))"
_THING: Final = _any(
    r"files? folders? director(?:y|ies) repo(?:sitor(?:y|ies))? source code(?:base)? scripts? programs?"
    r" branch(?:es)? databases? rows? records? disks? drives? servers? services?"
    r" process(?:es)? jobs? containers? config(?:uration)?s? settings? accounts? users? readme changelog licen[cs]e"
    r" links? logs? caches? shells? terminal consoles? ports?"
    r" connections? sessions? tickets? issues? requests? pipelines? endpoints? apis? (?:[\w-]+/)+[\w.-]*"
    r" [\w-]+\.(?:md|txt|py|js|ts|json|ya?ml|toml|ini|cfg|sh|csv|html?|log|sql)"
)
#: Verbs that are orders to act with any object.
_ACTS: Final[tuple[tuple[Rule, str], ...]] = (
    (
        "deletion",
        (
            "delete remove erase wipe purge unlink truncate destroy shred discard get_rid_of clean_out throw_away throw_out"
            " take_(?:it|them|this|these)_(?:away|out|down|off) prune cut_out strip_out trim"
        ),
    ),
    (
        "file_change",
        (
            "move rename overwrite modify edit append prepend save encrypt decrypt commit push rebase merge revert"
            " check_in restore replace change update(?!_me|_us) copy unzip patch swap exchange migrate sync back_up roll_back transfer"
            " import export stash reorder"
        ),
    ),
    (
        "execution",
        (
            "run(?!_through) execute launch spawn install uninstall deploy restart reboot kill shut_?down terminate"
            " schedule provision log_in log_on compile invoke trigger turn_(?:on|off) switch_(?:on|off)"
            " sign_(?:in|up|out) grant revoke assign approve mount buy pay book subscribe register unsubscribe block unlock bypass"
            " override exploit hack inject scan(?!_(?:the_)?(?:text|page|document))"
        ),
    ),
    ("network", "download upload fetch ping post e-?mail mail clone scrape browse visit retrieve submit connect publish notify tweet dial send(?!_me|_us)"),
)
#: Verbs that are orders to act if their object can be changed.
_ACTS_ON: Final[tuple[tuple[Rule, str], ...]] = (
    ("deletion", "drop clear clean empty reset flush"),
    ("file_change", "create make add insert fix apply put set refactor (?:re)?format rewrite convert generate touch store archive split combine correct"),
    ("execution", "start stop open enable disable build use call"),
    ("network", "query call ask contact request access hit reach look_up"),
)
_ACT: Final = tuple((rule, re.compile(rf"{_any(verbs)}\b{_NOTHING}")) for rule, verbs in _ACTS)
_ACT_ON: Final = tuple((rule, re.compile(rf"{_any(verbs)}\b{_NOTHING}[^.]*?(?<![\w-]){_THING}(?![\w-])")) for rule, verbs in _ACTS_ON)
_WRITES: Final = re.compile(
    rf"write\b.*?\b(?:to|into)\s+(?:the\s+|a\s+|our\s+)?{_THING}"
    r"|write\s+(?:an?|the)\s+(?:[\w-]+\s+){0,2}(?:script|program|file|test)\b"
)
_IN_PLACE: Final = re.compile(r"\b(?:store|save|put|write|edit|keep)\s+(?:it|them|this|that)\s+(?:in place|back|to|into)\b|\bin place\b")
_GERUND: Final = re.compile(
    r"\b(?:by|start|begin|proceed|finish|end|try)\s+(?:by\s+|with\s+)?"
    + _any(
        "deleting removing erasing wiping purging moving renaming overwriting editing running executing installing"
        " downloading uploading deploying sending creating modifying logging"
    )
)
_SEEN_TO: Final = re.compile(
    r"\b(?:ensure|make sure|see to it|have|need|want)\b(?![^.]*\b(?:no|not|nothing|never|none)\b)[^.]*\b"
    + _any("deleted removed erased wiped gone overwritten renamed moved executed installed deployed emptied")
    + r"\b"
)

_ALLOWED: Final = re.compile(r"\byou (?:are|have been|were) (?:allowed|asked|told|authori[sz]ed|permitted|free) to\s+(.*)")
_ONLINE: Final = re.compile(r"\b(?:look(?:ing)? up|search(?:ing)?|find|check|browse|google)\b[^.?!]*\b(?:internet|online|web|website|google)\b")
#: "Who is allowed to delete records", "explain how to run it": the verb after `to` is a topic, not an order.
_TOLD_OF: Final = re.compile(r"\b(?:how|who|what|when|where|why|which|whether|allowed|able|used|possible|rights?|permissions?)\b[^,]*$")
#: The screen reads English. A text without any of these words is refused.
_ENGLISH: Final = re.compile(
    r"\b(?:the|of|and|what|which|how|our|please|is|are|this|these|that|with|for|you|we|it|about|can|my|your|from|they|each|other|another|does|there|has|have|any|tell|if|by)\b"
)

#: Words before an order that do not change it.
_POLITE: Final = re.compile(
    "^(?:"
    + _any(
        "please kindly first firstly second secondly then next now also finally afterwards? after_that before_that"
        " once_done when_done if_possible just simply quickly"
        " and but so ok(?:ay)? go_ahead instead rather immediately maybe could_you can_you would_you will_you"
        " you_(?:should|must|can|may|need_to|have_to|are_to)"
        " (?:i|we)_(?:want|need|would_like|expect|ask)_you_to (?:i|we)'d_like_you_to your_(?:task|job|goal)_is_to help_(?:me|us)(?:_to)? let's let_us try_to"
        " feel_free_to be_sure_to make_sure_(?:you|to) remember_to to in_order_to as_(?:an?_)?(?:admin|administrator|root|user)"
    )
    + r"[\s,:]+)+"
)
_DENIED: Final = re.compile(
    r"^(?:please\s+)?(?:but\s+|and\s+)?"
    + _any("do_not don't dont never without no_need_to avoid must_not you_must_not should_not shouldn't cannot nor rather_than instead_of not")
    + r"\b\s*(?:ever\s+)?"
)
_SENTENCE: Final = re.compile(r"[.!?;:\n]+(?=\s|$)|\s[–—-]\s|\n")
#: Words between two orders of one sentence.
_JOINT: Final = re.compile(r"(,\s*(?:and then|then|and|or|nor|but)\b|,|\band then\b|\bthen\b|\band\b|\bor\b|\bnor\b|\bbut\b|\bto\b(?=\s))")
#: "Without moving, renaming or deleting": another form of negation.
_STEMS: Final = ("mov", "renam", "delet", "remov", "chang", "modif", "edit", "run", "execut", "writ", "creat")
_INVISIBLE: Final = dict.fromkeys((0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD))


def danger(text: str) -> Rule | None:
    """The rule that a request breaks, or None if it only asks for information."""
    folded = unicodedata.normalize("NFKC", text).translate(_INVISIBLE).casefold().replace("’", "'")
    plain = " ".join(part for part in re.split(r"[^\S\n]+", folded) if part)
    for found, pattern in _ANYWHERE:
        if pattern.search(plain):
            return found
    if _SECRET_ASKED.search(plain) or _RECORDS.search(plain):
        return "credentials"
    if _disguised(plain):
        return "disguise"
    if not _ENGLISH.search(plain):
        return "not_english"
    if (told := _ALLOWED.search(plain)) is not None and (rule := _act(told[1])) is not None:
        return rule
    if _ONLINE.search(plain):
        return "network"
    if _GERUND.search(plain) or _SEEN_TO.search(plain):
        return "execution"
    for sentence in _SENTENCE.split(plain):
        if rule := _ordered(sentence.strip(" \"'`*_#>()[]")):
            return rule
    return None


def _disguised(text: str) -> bool:
    """True if letters are spread out (`d e l e t e`), or words mix alphabets to look like other words."""
    if re.search(r"\b(?:[a-z] ){3,}[a-z]\b", text):
        return True
    for word in re.findall(r"[^\W\d_]{2,}", text):
        if (
            not word.isascii()
            and len({unicodedata.name(letter, "?").split()[0] for letter in word} & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}) > 1
        ):
            return True
    return False


def _ordered(sentence: str) -> Rule | None:
    """The rule that one of the sentence's orders breaks; None if none does.

    A negation holds for its own order, and for the rest of a list if it negated an act ("do not move, rename or delete files").
    """
    parts = _JOINT.split(sentence)
    joints = ["", *(part.strip(" ,") for part in parts[1::2])]
    denied = False
    for number, (joint, clause) in enumerate(zip(joints, parts[::2], strict=True)):
        clause = clause.strip(" \"'`*_()[]")
        if found := _DENIED.match(clause):
            rest = clause[found.end() :]
            # "Do not ask, delete it": the negated verb is not an act, so the negation ends with it.
            denied = _act(rest) is not None or rest.startswith(_STEMS)
            continue
        # "Apply it to the source code": the object belongs to the act.
        whole = f"{clause} to {parts[2 * number + 2]}" if joints[number + 1 : number + 2] == ["to"] else clause
        rule = None if joint == "to" and _TOLD_OF.search(parts[2 * number - 2]) else _act(_POLITE.sub("", whole + " ").strip())
        lists_on = joint in {"or", "nor", "and"} or (not joint and any(later in {"or", "nor", "and"} for later in joints[number + 1 :]))
        denied = denied and lists_on and not clause.startswith(("just", "instead", "rather", "please", "then")) and "instead" not in clause
        if rule is not None and not denied:
            return rule
    return None


def _act(clause: str) -> Rule | None:
    """The rule that a clause breaks by the verb at its beginning."""
    for rule, pattern in (*_ACT, *_ACT_ON):
        if pattern.match(clause):
            return rule
    return "file_change" if _WRITES.match(clause) or _IN_PLACE.search(clause) else None
