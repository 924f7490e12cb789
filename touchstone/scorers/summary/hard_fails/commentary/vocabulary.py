"""The vocabulary of commentary: texts and their writers, the words around them, and verbs of what a text does. Lists are in vocabulary.toml."""

from touchstone.scorers.summary.word_lists import listed, table, word_lists

_TABLE, _LISTS = table(__file__, "vocabulary"), word_lists(__file__, "vocabulary")
#: Kinds of nouns.
DOCUMENT, ARTICLE, TEXT, SUMMARY, PIECE, WORK = "document", "article", "text", "summary", "piece", "work"
#: A plan or law that the story brought up: "the document" may be that as far as it states something.
PLAN, PLANS = "plan", frozenset(("plan", "order", "act", "bill", "law", "code", "ruling", "proposal"))
AUTHOR, AUTHORS, SPEAKER, READER = "author", "authors", "speaker", "reader"
NOUNS: dict[str, str] = {word: kind for kind, words in _TABLE["nouns"].items() for word in words.split()}
POINTING = _LISTS["pointing"]
NEUTRAL = _LISTS["neutral"]
SUPPLIED = _LISTS["supplied"]
NO_SUPPLY = _LISTS["no_supply"]
#: "The document in question" is the document; "the text at hand" the one given.
IN_QUESTION = (["in", "question"], ["at", "issue"], ["at", "hand"], ["under", "review"], ["under", "discussion"])
PARTS_SPEAKING = _LISTS["parts_speaking"]
ORDERED = _LISTS["ordered"]
NO_PART_SPEAKS = _LISTS["no_part_speaks"]
DEVICES = _LISTS["devices"]
PAPER_DEEDS = _LISTS["paper_deeds"]
GENRE = _LISTS["genre"]
DETERMINERS = _LISTS["determiners"]
INDEFINITE = _LISTS["indefinite"]
ADVERBS = _LISTS["adverbs"]
PREPOSITIONS = _LISTS["prepositions"]

#: Verb → the words of which one must follow it.
WITH = {verb: listed(words) for verb, words in _TABLE["with"].items()}
OF_CONTENT = _LISTS["of_content"]


def _third(verb: str) -> str:
    """The third person of a verb."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "go")) else "s")


_IRREGULAR = {
    "say": "said", "set": "set", "find": "found", "leave": "left", "lay": "laid", "tell": "told", "think": "thought", "begin": "began", "deal": "dealt",
    "go": "went", "give": "gave", "draw": "drew", "show": "showed",
}  # fmt: skip


def _past(verb: str) -> str:
    """The past of a verb."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


BASES = {verb: verb for verb in (*_TABLE["discuss"].split(), *_TABLE["state"].split(), *WITH)}
THIRD = {_third(verb): verb for verb in BASES} | {"writes": "write"}
PAST = {_past(verb): verb for verb in BASES} | {"written": "write", "given": "give", "shown": "show", "wrote": "write"}
DISCUSSING, STATING = _LISTS["discuss"], _LISTS["state"] | {"write"}
SAID_IN = _LISTS["said_in"]
PARTS = _LISTS["parts"]
KINDS = _LISTS["kinds"]
SPEAKERS_BEFORE = _LISTS["speakers_before"]
OF_ITS_OWN = _LISTS["of_its_own"]
BRINGS = _LISTS["brings"]
ACTED_ON, SHAPES = _LISTS["acted_on"], _LISTS["shapes"]
TALKS, ADDRESSES, AUDIENCE = _LISTS["talks"], _LISTS["addresses"], _LISTS["audience"]
FOREIGN, FOREIGN_KINDS, FOREIGN_REMARKS = _LISTS["foreign"], _LISTS["foreign_kinds"], _LISTS["foreign_remarks"]
#: "Will" and "minutes" hardly ever are texts where a gold has them.
TELLS_OF_TEXTS, CARRIERS = (_LISTS["tells_of_texts"] | BRINGS | FOREIGN) - {"will", "minutes"}, _LISTS["carriers"]
#: Texts that may be called so where somebody finds or announces something.
LICENSED = {word: listed(by) for word, by in _TABLE["licensed"].items()}
UNSAID = _LISTS["unsaid"]
FINDINGS, PAPERS, REMARKS, APPEARED = _LISTS["findings"], _LISTS["papers"], _LISTS["remarks"], _LISTS["appeared"]
#: "TL;DR: …", "In short: …" as words and marks, without the mark at the end.
RECAPS = (
    ["tl", ";", "dr"],
    ["tldr"],
    ["in", "short"],
    ["in", "brief"],
    ["in", "essence"],
    ["summary"],
    ["bottom", "line"],
    ["gist"],
    ["in", "a", "nutshell"],
    ["recap"],
)
BRINGS_AUTHOR = _LISTS["brings_author"]
NO_TEXT = _LISTS["no_text"]
DEEDS = _LISTS["deeds"]
OBJECTS = _LISTS["objects"]
BOUNDARY = _LISTS["boundary"]
HANDED = _LISTS["handed"]
OF_FACT, NOTHING, LACKED = _LISTS["of_fact"], _LISTS["nothing"], frozenset(("details", "information", "any"))
OF_PART = _LISTS["of_part"]
WRITERS = (["the", "author"], ["the", "authors"], ["the", "reader"], ["the", "writer"])
VOCABULARY = _LISTS["vocabulary"]
CUES = _LISTS["cues"]
