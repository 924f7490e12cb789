"""Meta-commentary: sentences that begin by speaking of the source, of the summary, or as the assistant that wrote it.

The rules, in one place. A sentence is commentary where it begins, after at most one linking phrase ("Overall, …", "Summary: …"), with

- the source text as what speaks: *the / this / the above … document, article, text, passage, excerpt, summary* and at once a verb of saying in the
  present ("The document states"); with "this" or "the above" also in the past, and "this … is about, contains, provides";
- its author in the present ("The author argues", "The authors discuss");
- the source as a place: "In this article, …", "According to the passage, …", "As stated in the text, …", "It is mentioned in the document …";
- its theme named as such: "The main idea of the passage is …", "The purpose of this document …";
- an announcement: "Here is a summary", "Below is the summary", "The following is a summary", "This is a summary of", "Let me summarize", "I have summarized";
- the assistant: "As an AI language model, I …", "Sure, here's …", "Certainly!", "I'm sorry, but I cannot …", "I hope this summary helps".

What does not count, so that a summary of a report, a study or a document about documents is safe: *report, study, paper, bill, act, letter, note* are
subjects of summaries, never the source; neither is a document with a word between ("The discharge summary", "The text message") or of something ("The
article of the treaty", "The summary of product characteristics"), a plural ("The documents show"), or one that was acted upon ("The document was signed");
an author in the past ("The author said she would appeal") is a person in the news; a sentence that begins with a quotation mark is somebody's words.
"""

import re

_SOURCE = r"(?:document|article|text|passage|excerpt|summary)"
_POINTING = r"(?:this|the (?:above|following|given|provided|present|attached|original|source|current|preceding)|(?:above|following|provided|given|attached))"
_THE = rf"(?:{_POINTING}|the)"
_HOW = (
    r"(?:(?:also|then|further|furthermore|additionally|briefly|clearly|explicitly|first|finally|next|mainly|primarily|basically|essentially|specifically"
    r"|generally|even|begins by|starts by|opens by|ends by|closes by|concludes by|continues by|goes on to) )*"
)
#: Verb, its -ing form and its plural alike by their endings.
_SAY = (
    r"(?:stat|discuss|cover|describ|mention|outlin|explain|summari[sz]|detail|highlight|address|explor|examin|present|argu|not|emphasi[sz]|stress|underlin"
    r"|underscor|conclud|suggest|talk|indicat|review|introduc|list|illustrat|analy[sz]|claim|assert|point|delv|touch|elaborat|focus|deal|recount|narrat"
    r"|look|clarif|articulat|reiterat|recommend|acknowledg|contend|maintain|observ|remark|cit|report)"
)
_SAYS = rf"(?:{_SAY}(?:e?s|ies)|says|tells|sheds light|gives an? (?:\w+ )?(?:overview|summary|account|description))"
_SAYING = rf"(?:{_SAY}(?:e?s?|ies|y|ing|e?d|ied)|sa(?:ys?|id|ying)|t(?:ells?|old|elling))"
#: A verb of saying that is a noun here: "The text notes of the organist", "The summary reports were late".
_NO_NOUN = r"(?! (?:was|were|is|are|had|have|has|of|from)\b)"
_ABOUT = (
    r"(?:is about|is focused on|is concerned with|is an? (?:\w+ ){0,3}(?:summary|overview|account|description|discussion|analysis)|contains|includes|provides"
    r"|offers|gives|shows|aims to|seeks to|attempts to|serves (?:as|to))"
)
_AUTHORS_OF = rf"(?: of (?:this|the) {_SOURCE})?"
_SUMMARY = r"(?:summary|summari[sz]ation|overview|synopsis|recap|breakdown|tl;?dr)"
_POINTS = (
    r"(?:key|main|central|primary|core|major) "
    r"(?:points?|takeaways?|ideas?|themes?|topics?|arguments?|messages?|facts?|details?|purpose|focus|subject)"
)
_TELLING = r"(?:summary|overview|account|description|discussion|analysis|outline)"
_LINK = (
    r"(?:(?:overall|in (?:summary|conclusion|short|brief|essence|addition|general)|to (?:summari[sz]e|conclude|sum up)|finally|additionally|furthermore"
    r"|moreover|also|first|firstly|second|secondly|next|then|however|lastly|specifically|notably|ultimately|here|note(?: that)?),? "
    r"|(?:summary|overview|abstract|answer|output|response|note|tl;?dr) ?[:–—-] ?)?"
)
_MODEL = r"(?:ai|artificial intelligence|(?:large )?language model)"

_RULES = (
    # the source speaks
    rf"{_THE} {_SOURCE} {_HOW}{_SAYS}\b{_NO_NOUN}",
    rf"{_POINTING} {_SOURCE} {_HOW}(?:{_SAYING}\b{_NO_NOUN}|{_ABOUT}\b)",
    rf"the {_SOURCE} {_HOW}(?:is about|is an? (?:\w+ ){{0,3}}{_TELLING} of|aims to|seeks to|serves (?:as|to))\b",
    rf"the {_SOURCE} {_HOW}(?:provides|offers|presents|gives) (?:an? |the )?(?:\w+ ){{0,2}}(?:{_TELLING}|information|insights?|details)\b",
    rf"{_THE} {_SOURCE} (?:begins|starts|opens|ends|closes|concludes|continues) by \w+ing\b",
    rf"{_THE} {_SOURCE} (?:then |also )?goes on to\b",
    # its author speaks
    rf"(?:the|this) (?:author|writer){_AUTHORS_OF} {_HOW}(?:{_SAYS}|believes|thinks|writes|wants|begins by|starts by|goes on)\b",
    rf"the authors{_AUTHORS_OF} {_HOW}(?:{_SAY}(?:e|y)?|say|tell|believe|write|go on)\b(?! (?:of|and)\b)",
    (r"the (?:author|writer)(?:'s|s'|’s|s’) (?:(?:main|central|primary|key|overall) )?"
    r"(?:point|argument|purpose|message|thesis|claim|goal|aim|view|conclusion)\b"),
    # the source as a place
    rf"in (?:this|the (?:above|given|provided|following|present|attached|source|original)) (?:{_SOURCE}|essay|blog post|piece),",
    rf"in the {_SOURCE},",
    rf"in (?:this|the) {_SOURCE},? (?:the (?:authors?|writers?|reader)|we (?:learn|read|are told|see)|you (?:will )?(?:learn|read|find))\b",
    rf"according to (?:{_THE} {_SOURCE}|the authors?|the writers?){_AUTHORS_OF}(?:,|[.!]$|$)",
    (r"(?:as|it is|it was) (?:\w+ly )?(?:stated|mentioned|described|noted|discussed|outlined|explained|said|indicated|detailed|written) "
    rf"(?:in|by) {_THE} {_SOURCE}(?! of\b)"),
    rf"throughout {_THE} {_SOURCE},",
    # its theme, named as such
    rf"(?:the|some|several) {_POINTS}(?: (?:discussed|covered|presented|mentioned|made|described))? (?:of|from|in|by) {_THE} (?:{_SOURCE}|authors?)(?! of\b)",
    rf"the (?:purpose|aim|goal|topic|subject|theme|point|message|focus|tone|scope) of {_THE} {_SOURCE} (?:is|was|are)\b",
    # an announcement
    (r"(?:here(?: is|'s|’s| are)|below (?:is|are)|(?:the )?following (?:is|are)|what follows (?:is|are)) (?:(?:an?|the|my|your|some|one) )?"
    rf"(?:[\w-]+,? ){{0,3}}(?:{_SUMMARY}\b(?! judge?ment)|{_POINTS}\b|bullet points|highlights of|summari[sz]ed (?:version|text))"),
    r"(?:here(?: is|'s|’s)) (?:the|a|my|your) (?:requested|revised|updated|json|final|condensed|shortened|rewritten)\b",
    rf"(?:this|that|it) is (?:an?|the|my) (?:[\w-]+ ){{0,3}}{_SUMMARY} (?:of|for) ",
    rf"(?:an?|the) (?:(?:brief|short|concise|quick|detailed) )?summary of {_THE} (?:document|article|text|passage|excerpt|report|paper)\b",
    rf"summary of {_THE} (?:document|article|text|passage|excerpt|report|paper)\b",
    rf"to (?:summari[sz]e|sum up|recap) {_THE} {_SOURCE}\b",
    r"let me (?:briefly )?(?:summari[sz]e|sum up|recap|give you|provide|break (?:this|it) down)\b",
    r"i(?: have|'ve|’ve| will|'ll|’ll| can) (?:now |briefly |also )?(?:summari[sz]ed?|condensed?|(?:creat|provid)ed? an? (?:\w+ )?summary)\b",
    rf"based on {_THE} {_SOURCE},",
    # the assistant
    rf"as an? {_MODEL}(?: (?:language )?(?:model|assistant|system|chatbot))?(?: (?:developed|created|trained) by [\w ]{{1,30}})?, ?(?:i|my)\b",
    rf"i(?: am|'m|’m) (?:an? {_MODEL}\b|unable to (?:summari[sz]e|provide|access|read|open|fulfil|help|generate|assist))",
    r"i(?: am|'m|’m) sorry,? (?:but )?(?:i|as an ai|the (?:text|document|article))\b",
    (r"(?:unfortunately, )?i (?:cannot|can't|can’t|can not|do not|don't|don’t) (?:summari[sz]e|provide|access|fulfil|help with|assist"
    r"|have (?:access|enough (?:information|context|text)|the (?:text|document|article)))\b"),
    (
        r"(?:sure|certainly|of course|absolutely|no problem)(?: thing)?[,!.:–—-]+ ?"
        r"(?:here|below (?:is|are)|i(?:'ll|’ll| will| can| have|'ve|’ve) (?:summari|provide|give|be)|the following (?:is|are)|let me)"
    ),
    r"(?:sure(?: thing)?|certainly|of course|absolutely)!+$",
    rf"i hope (?:this|that|the)(?: {_SUMMARY})? (?:helps|is helpful|was helpful|meets)\b",
    r"(?:please )?let me know if you(?:'d|’d)? (?:need|want|would like|like|have)\b",
    r"please (?:provide|share|paste|upload) (?:me with )?(?:the|your|an?) (?:full |complete )?(?:text|document|article|passage)\b",
)  # fmt: skip
_COMMENTARY = re.compile(rf"{_LINK}(?:{'|'.join(f'(?:{rule})' for rule in _RULES)})", re.IGNORECASE)
#: What may stand before a sentence without being part of it: markers of lists, headings and emphasis. No quotation mark.
_BEFORE = re.compile(r"(?:[#>*_\s•◦▪‣·+-]|\(?\d{1,3}[.)](?=\s))+")
_WITHIN = re.compile(r"[*_`]+|\s+")
#: Rules look at beginnings only; so much is looked at.
BEGINNING_CHARS = 400


def is_commentary(sentence: str) -> bool:
    """Whether a sentence begins by speaking of its source or its writing instead of its subject."""
    beginning = sentence[:BEGINNING_CHARS]
    if marked := _BEFORE.match(beginning):
        beginning = beginning[marked.end() :]
    beginning = " ".join(_WITHIN.sub(" ", beginning).split()).replace(" ,", ",")
    return _COMMENTARY.match(beginning) is not None
