"""Words for texts and their writers, what stands around them, and verbs of what a text does: the vocabulary of `sources`."""


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


#: Kinds of nouns.
DOCUMENT, ARTICLE, TEXT, SUMMARY, PIECE, WORK = "document", "article", "text", "summary", "piece", "work"
AUTHOR, AUTHORS, SPEAKER, READER = "author", "authors", "speaker", "reader"
NOUNS = {
    **dict.fromkeys(listed("document"), DOCUMENT),
    **dict.fromkeys(listed("article"), ARTICLE),
    **dict.fromkeys(listed("text passage excerpt extract snippet"), TEXT),
    **dict.fromkeys(listed("summary synopsis overview recap"), SUMMARY),
    **dict.fromkeys(listed("author writer narrator"), AUTHOR),
    **dict.fromkeys(listed("authors writers"), AUTHORS),
    **dict.fromkeys(listed("speaker presenter poet interviewer"), SPEAKER),
    **dict.fromkeys(listed("reader readers"), READER),
    **dict.fromkeys(listed("essay transcript content piece story narrative dialogue conversation write-up editorial op-ed"), PIECE),
    **dict.fromkeys(
        listed(
            "post material paragraph chapter section source input information context note notes report study paper letter book record memo speech "
            "email e-mail guide review poem novel statement chart file page blog abstract data case details facts thread message column"
        ),
        WORK,
    ),
}
#: "The provided text": it can only be the one given.
POINTING = listed("provided given attached above following supplied uploaded linked shared submitted aforementioned source input pasted")
#: Neither points at a text nor makes it one of its own.
NEUTRAL = listed("original entire whole full preceding overall same very present current first")
#: What is provided to a summariser and to nobody else.
SUPPLIED = listed("provided supplied pasted uploaded")
#: Other things than texts are provided too: forms, data, pages.
NO_SUPPLY = listed("data information details facts statement column file page input source context record chart book guide")
#: "The document in question" is the document; "the text at hand" the one given.
IN_QUESTION = (["in", "question"], ["at", "issue"], ["at", "hand"], ["under", "review"], ["under", "discussion"])
#: Parts of a text as its speakers: "the second paragraph describes", with one of the words of order before.
PARTS_SPEAKING = listed("paragraph paragraphs section sections part parts half stanza stanzas line lines sentence sentences introduction conclusion")
ORDERED = listed("first second third fourth fifth sixth next last final opening closing concluding middle remaining later earlier")
#: What a law's paragraph, a line of the railway or half of a match does too.
NO_PART_SPEAKS = listed(
    "follow feature cover recall defend compare celebrate urge quote capture review question address open close end stop start continue include use make"
)
#: With "uses": what a writer uses, and nobody's wheelchair is.
DEVICES = listed(
    "metaphor metaphors symbol symbols image images imagery irony humour humor term phrase word words language example examples analogy simile anecdote "
    "quotes quotations statistics tone style repetition comparison comparisons"
)
#: What an author of a paper does there; a study's authors find, warn and recommend in the news.
PAPER_DEEDS = listed("argue discuss describe present propose explain examine explore outline introduce address contend advocate emphasise emphasize focus")
#: A kind of text, which does not make it one of its own: "the news article".
GENRE = listed("news newspaper magazine research journal scientific academic blog opinion wikipedia encyclopedia clinical medical short long entire whole")
DETERMINERS = listed("the this that these those a an my your his her its their our each every another one some any no two both such which whose")
INDEFINITE = listed("a an one two another each every some any his her their its no")
ADVERBS = listed("also then first now only just here itself even further next briefly mainly never always still again thus therefore however later")
PREPOSITIONS = listed("in within throughout across inside")

#: Verbs of discussing: third person, base, past. They say what a text does, seldom what a person or a paper in the news does.
DISCUSS = (
    "tackle unpack dissect probe rebut expose trace discuss describe explain highlight outline cover emphasize emphasise explore examine "
    "delve summarize summarise present address detail mention introduce illustrate analyze analyse elaborate underscore underline stress "
    "argue conclude suggest recount narrate concern clarify articulate reiterate contend depict portray profile compare contrast advocate "
    "critique capture convey focus review recommend criticize criticise encapsulate chronicle trace question investigate evaluate assess "
    "propose praise lament celebrate debunk urge quote cite feature follow recall defend"
)
STATE = (
    "state note claim report list indicate show assert acknowledge maintain cite observe warn reveal record believe think specify remark "
    "affirm admit tell say document inform instruct express advise remind identify demonstrate"
)
#: Verbs that speak of a text only with the right word after them.
WITH = {
    "begin": listed("with by"),
    "start": listed("with by off"),
    "open": listed("with by"),
    "close": listed("with by"),
    "end": listed("with by abruptly on as when there here before"),
    "stop": listed("before abruptly at short as when there here"),
    "read": listed("like as"),
    "put": listed("the forward"),
    "place": listed("the"),
    "take": listed("the us a"),
    "consist": listed("of"),
    "attribute": listed("the this to"),
    "blame": listed("the"),
    "welcome": listed("the this"),
    "speak": listed("of about"),
    "conclude": listed("with by that"),
    "continue": listed("with by to"),
    "turn": listed("to"),
    "look": listed("at into back"),
    "go": listed("on into over through"),
    "point": listed("out to"),
    "touch": listed("on upon"),
    "talk": listed("about of"),
    "deal": listed("with"),
    "call": listed("for on"),
    "shed": listed("light"),
    "tell": listed("of about how the us"),
    "walk": listed("through the"),
    "reflect": listed("on"),
    "return": listed("to"),
    "move": listed("on to"),
    "dive": listed("into"),
    "zoom": listed("in"),
    "cut": listed("off"),
    "break": listed("off"),
    "shift": listed("to from"),
    "serve": listed("as"),
    "aim": listed("to"),
    "seek": listed("to"),
    "attempt": listed("to"),
    "draw": listed("attention"),
    "give": listed("a an details insight insights examples"),
    "provide": listed("a an details insight insights information context examples"),
    "offer": listed("a an insight insights advice"),
    "contain": listed("information details a"),
    "include": listed("information details"),
    "use": listed("the a an"),
    "make": listed("the"),
    "ask": listed("the whether how"),
    "set": listed("out forth"),
    "lay": listed("out"),
    "spell": listed("out"),
    "revolve": listed("around"),
    "center": listed("on around"),
    "centre": listed("on around"),
    "delve": listed("into deeper"),
    "expand": listed("on upon"),
    "comment": listed("on"),
    "hint": listed("at"),
    "allude": listed("to"),
    "refer": listed("to"),
    "fail": listed("to"),
    "leave": listed("open out unclear"),
    "wrap": listed("up"),
    "raise": listed("the concerns questions several"),
    "seem": listed("to"),
    "appear": listed("to"),
    "complain": listed("about that of"),
    "find": listed("that"),
}
#: What a text gives that no law or letter gives.
OF_CONTENT = listed(
    "overview summary account description discussion analysis outline insight insights information details look guide glimpse explanation "
    "comprehensive detailed balanced"
)


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


BASES = {verb: verb for verb in (*DISCUSS.split(), *STATE.split(), *WITH)}
THIRD = {_third(verb): verb for verb in BASES}
PAST = {_past(verb): verb for verb in BASES} | {"written": "write", "given": "give", "shown": "show", "wrote": "write"}
THIRD["writes"] = "write"
DISCUSSING, STATING = listed(DISCUSS), listed(STATE) | {"write"}
#: What is done with something in a text: "as stated in".
SAID_IN = listed(
    "stated mentioned described noted discussed outlined explained said indicated detailed written given specified reported presented "
    "provided highlighted covered included found"
)
#: Parts and qualities of a text.
PARTS = listed(
    "view words opinion account perspective stance position intention attitude headline purpose focus tone theme message argument topic "
    "subject thesis aim goal idea title conclusion rest remainder beginning end half part section paragraph sentence gist essence scope point "
    "points takeaways ideas themes topics arguments messages facts details highlights insights significance"
)
#: What a text is said to be.
KINDS = listed(
    "letter profile summary overview description account discussion analysis story report essay note excerpt guide review biography poem "
    "article document piece transcript interview speech extract narrative tale recipe record abstract passage agreement contract form invoice "
    "diary email memo receipt policy manual lease thread blog paper study announcement obituary set list collection series"
)
#: Somebody in the story speaks.
SPEAKERS_BEFORE = listed(
    "said says told tells ruled held claimed claims argued wrote found thinks believes warned added testified insisted denied conceded told "
    "complained heard noted stated explained alleged"
)
#: After a text's name, words that make it one of its own: "the document, which was leaked", "the article in the Herald".
OF_ITS_OWN = listed("by signed filed published seen leaked sent which that who in on drafted released dated obtained written")
#: What brings a text into the story, with an article or a possessive before it: later "the document" is that.
BRINGS = listed(
    "memo letter contract treaty will agreement manuscript papyrus charter deed affidavit statement email e-mail petition constitution "
    "convention prospectus report paper diary lease accord pact resolution filing warrant dossier pamphlet scroll tablet certificate "
    "declaration referral"
)
#: What an author is a person of.
BRINGS_AUTHOR = listed("novel memoir book autobiography novelist poet playwright interview podcast festival lecture")
#: Words for parts of a text or for what it holds: no text of their own.
NO_TEXT = listed("section paragraph chapter page information details facts content material input context data case source note notes")
#: What a text, a passage or an author does that no summary remarks on.
DEEDS = listed(
    "requires prohibits permits grants guarantees forbids obliges protects imposes applies entitles binds allows bans makes declares enters "
    "takes dates bears survives exists remains belongs hangs lies comes weighs measures costs sells runs depends carries has needs gets leads "
    "links connects leaves narrows widens crosses works lives teaches plans owns holds denies plays becomes sits stands stays resides earns "
    "faces wins loses dies feels hopes wants is was gives uses moves makes keeps joins faces sues provides opens closes goes spends sees "
    "replaces"
)
#: After these words a word in -s is a verb, not a plural.
OBJECTS = listed("the a an this that how why what whether when where who his her its their several many various both some two three four all no not")
#: Where a noun phrase ends to the left.
BOUNDARY = listed("of to by from on as and or for with while that but in within throughout across inside")
#: After "… you", what was done with the text.
HANDED = listed("me have had provided shared sent gave given uploaded pasted above supplied submitted")
OF_FACT = listed("gives contains makes provides offers includes mentions")
#: What remarks on a part or quality of a text go on with.
OF_PART = listed("is are was were deals describes discusses covers and as focuses explains does")
WRITERS = (["the", "author"], ["the", "authors"], ["the", "reader"], ["the", "writer"])
#: Words that count as themselves to the model; others count by their form.
VOCABULARY = listed(
    "a an the this that these those of in on at by for with from to as according based per throughout i you we my your me us it its he she "
    "they his her their is are was were be been has have had will would can could may should must does do did not no how if what which who "
    "and or but here there let please also then now first so okay ok sure certainly course absolutely great good thanks thank sorry unable ai "
    "language model user happy glad free feel hesitate like further more any else anything everything nothing question questions version "
    "short brief concise word words count length requested request above below don't can't i'm i've i'll i'd here's it's let's you've you'd "
    "that's cannot couldn't doesn't wasn't isn't didn't each every another some one two both only just overall finally conclusion essence "
    "nutshell additional help helps hope ask asked need want know share upload paste omit omitted shorten shortened condense condensed "
    "condensing expand verify access keep kept provided given attached following original full entire whole supplied uploaded shared source "
    "news blog research key main central points point takeaways takeaway ideas idea themes theme message argument topic purpose focus tone "
    "rest details detail information mention task instructions prompt limited note noted unclear clear read learn see consult refer task "
    "video podcast interview episode paragraph section part half introduction advice matters version user users link then "
    "voici résumé hier zusammenfassung aquí resumen ecco riassunto resumo texte texto testo artikels"
)
#: Without one of these, or a noun of a text, nothing is commentary: most sentences need no closer look.
CUES = listed(
    "sentence lines line simplicity clarity convenience interest interests abridged condensed shortened wording phrasing omitted rounded i "
    "i'm i've i'll i'd you you've you'd you're your me my we us ai user prompt task instructions request requested here here's below above "
    "following let let's hope helps help happy glad feel hesitate sure certainly course absolutely okay ok alright great good got hi hello "
    "thank thanks sorry apologies apologize apologise unable understood note noted count length words sentences bullet points takeaways "
    "highlights ideas themes facts findings version versions tl dr summarization summarisation breakdown gist rundown digest summarize "
    "summarise summarized summarised summarizes summarises brevity readability assistant response answer output reply provided given goal "
    "video podcast interview episode clip lecture recording webinar scene chat topics advice short paragraph paragraphs section sections "
    "part parts half stanza introduction conclusion details narrative plot "
    "draft perfect yes anything gladly pleasure voici voilà résumé texte hier zusammenfassung text artikel autor resumen texto artículo ecco "
    "riassunto sintesi testo resumo artigo samenvatting tekst auteur auteure autore nachfolgend folgenden aquí continuación"
)
