"""What is said of a summary by the one who wrote it: announcements, headings, its length, what it leaves out, and the text as it was given."""

from touchstone.scorers.summary.hard_fails.commentary.phrase_parts import GIVEN, LEGAL, POINTS, SHORTEN, SUMMARY, TEXT, THE, A

#: Unmistakable wherever they stand.
ANYWHERE = (
    # its own summary
    rf"\bmy (?:\w+ )?{SUMMARY}\b",
    rf"\bhere(?: is|'s| are) {A}(?:[\w-]+,? ){{0,3}}{SUMMARY}\b{LEGAL}(?! map\b)",
    r"\bthis (?:response|answer|output|reply) (?:was|is|has been) (?:limited|generated|based|kept|written|intended|not|only|an?)\b",
    r"\b(?:omitted|left out|shortened|condensed|skipped|removed|simplified) for (?:the sake of )?(?:brevity|conciseness|clarity|simplicity)\b",
    (
        r"\b(?:there (?:is|was) )?no (?:text|document|article|content|input|passage|file|attachment)s? (?:was|were|is|has been|to) (?:provided"
        r"|attached|given|included|supplied|uploaded|summari[sz]e)\b"
    ),
    r"\bas (?:it is|they are|it was|they were) in the (?:source|original|text|document|article)\b",
    (
        rf"\bthis (?!breakdown (?:of|in)\b|digest\b)(?:brief |short |concise |quick |condensed |very )?(?:{SUMMARY}){LEGAL}\b"
        r"(?! (?:of (?:facts|costs|evidence)|map)\b)"
    ),
    rf"\b(?:the|my) (?:{SUMMARY}) (?:above|below)\b",
    rf"\b(?:the|an?) (?:above|preceding|foregoing|following) (?:\w+ )?(?:{SUMMARY})\b{LEGAL}",
    (
        r"\b(?:the above|the foregoing|what follows|the following|this|that|it|these)(?: is|'s| are| was) (?:just |only )?(?:an?|the"
        rf"|my)? ?(?:[\w-]+,? ){{0,3}}(?:{SUMMARY}|{POINTS})"
        rf" (?:of|for|from|in|and|that|which)\b(?= (?:{THE} )?{GIVEN}(?:{TEXT}|leaves|omits|does|what|everything|you)\b)"
    ),
    rf"\b(?:end|beginning|start) of (?:the )?{SUMMARY}\b",
    rf"\b(?:this|that) (?:concludes|completes|ends) (?:the|my|this) {SUMMARY}",
    r"\b(?:word|character|token|sentence) count ?: ?~?\d",
    r"\b(?:summary|total|approximate) length ?: ?~?(?:about )?\d",
    r"^\(?~?\d+ (?:words|characters|tokens)\)?\.?$",
    (
        r"\b(?:minor|some|other|remaining|further|certain|secondary|all other|less important) details (?:were|have been|are) (?:left out|omitted"
        r"|not included|skipped)\b"
    ),
    r"\bthis (?:shorter |condensed |short )?version (?:leaves out|omits|keeps|covers|contains|skips)\b",
    # what the text given does not say
    (
        r"\bthere(?:'s| is| are|'re| is not| are not| isn't| aren't) .{0,40}\b(?:mention|indication|details?|information|reference|description|explanation)\b"
        r".{0,30} in the (?:given |provided |source |original )?(?:text|article|passage|excerpt|extract|document|transcript|notes|source|snippet)\b"
    ),
    (
        r"\b(?:facts|details|information|material|data) (?:given|provided|supplied) (?:is|are|do|does)\b.{0,25}\b(?:insufficient|sufficient|enough|allow"
        r"|permit|say|state|show|mention)\b"
    ),
    (
        r"\bnot (?:\w+ )?(?:mentioned|stated|specified|given|described|included|named|clear|recorded|explained) (?:in|from) the (?:\w+ )?(?:text|article"
        r"|passage|excerpt|extract|source|original|snippet)\b(?! (?:of|on|in)\b)"
        r"|: not (?:mentioned|stated|specified|given|documented|recorded) in the (?:document|notes?|letter|transcript|record)\b"
    ),
    r"\bfrom the (?:text|passage|article|excerpt) alone\b|\bmissing from what was (?:provided|given|shared)\b",
    (
        r"\bthe (?:story|narrative|plot|interview|conversation|discussion|dialogue|account|poem|scene|episode|podcast|video|extract) then (?:shifts"
        r"|moves|turns|jumps|switches|cuts|goes on)\b"
    ),
    rf"\b(?:left out of|omitted from|included in|excluded from|not part of|beyond the scope of) (?:this|my) (?:\w+ )?{SUMMARY}",
    rf"\bas (?:they|it) (?:appears?|is given|are given|was given|were given|stands?) in the (?:original|source|provided|given) {TEXT}\b",
    rf"\b(?:these|the above|those) (?:points|sentences|bullets?|facts) (?:{SHORTEN}|capture|cover|reflect|represent)",
    (
        rf"\b(?:this|that|it|which) (?:covers|captures|includes|sums up|summari[sz]es) (?:all )?(?:of )?(?:the|everything)? ?(?:{POINTS}"
        r"|everything)\b"
    ),
    rf"\blength ?: ?~?\d+ (?:words|sentences|characters|tokens)|\bno {SUMMARY} (?:can|could|is|was) ",
    r"\btask ?: (?:summari[sz]e|condense|write)|\b(?:request|task|instruction|goal) (?:was|is) to (?:summari[sz]e|condense|shorten)",
    r"\bin the interests? of (?:brevity|space|readability|clarity)\b|\b(?:omitted|left out|not covered|not included|not repeated|given|listed) here\.?$",
    (
        r"\b(?:rounded|shortened|grouped|merged|combined|simplified|omitted"
        r"|left out|reordered|listed|paraphrased) for (?:simplicity|readability|brevity|clarity|ease|convenience)\b"
    ),
    (
        r"\bthis (?:condensed|abridged|short|shortened|shorter|simplified) version\b"
        r"|\bthis is (?:the|an?) (?:abridged|short|condensed|shortened|simplified) version\b|\bin this version\."
    ),
    (
        r"\bthe (?:\w+ )?(?:bullets|bullet points|points|sentences|lines"
        r"|paragraphs?) (?:above|below) (?:covers?|are listed|lists?|gives?|summar|sums? up|condense)"
    ),
    (
        r"\b(?:the|this|these|next|following) (?:\w+ )?(?:paragraphs?|sentences?"
        r"|lines?|bullets?|points) (?:condense|summar|sum up|sums up|give the gist|gives the gist)"
    ),
    rf"\bthe {SUMMARY} (?:stays|keeps|sticks|follows the|is limited to|is intended for|is based on|preserves|retains|avoids)\b",
    r"\b(?:wording|order|phrasing|structure|terminology|spelling) follows (?:that of )?the (?:original|source|text|article)\b",
    (
        r"\b(?:nothing|no (?:information|facts?|details?)) (?:has|have|was|were) been? ?added\b"
        r"|\btell me if (?:you (?:want|need|would|prefer|like)|anything|something)\b"
    ),
    (
        r"\bif anything is (?:unclear|missing),? (?:please )?(?:ask|let|tell)\b(?! (?:a|an|the|your)\b)"
        r"|\bdo you (?:need|want) (?:this|it|the summary|more|another)\b"
    ),
    (
        r"\bis there (?:a|any) (?:part|section|point|aspect) you\b|\bi trust (?:this|it|that) (?:meets|helps|answers)\b"
        r"|\bkey (?:facts|points) to (?:include|cover|mention)\b"
    ),
    (
        r"\bto put (?:the|this) (?:article|text|document|passage) (?:in|into) a nutshell\b|\bin what follows,"
        r"|\b(?:overview|summary|outline) of the main points follows\b"
    ),
    # the text as given to it
    (
        rf"\b(?:the|this) (?:{TEXT}) (?:that )?(?:was |is )?(?:provided|supplied|given)(?: (?:above|here|below|to me|by the user"
        r"|in the prompt))?(?=[,.:;) ]|$)"
        r"(?! (?:by|to|for|in|at|with|under|from|that|on|as)\b)"
    ),
    rf"\b(?:the|this) (?:{TEXT}) (?:above|below)(?=[,.:;)]|$)",
    r"\bsource (?:text|material|document|passage)\b(?=.{0,30}\b(?:is|are|was|does|mentions?|states?|says?|describes?|included|contains?)\b)",
    (
        r"\b(?:based (?:solely |only )?on|from|in|according to) the (?:information|details|content|material|context|data) (?:provided|given"
        r"|supplied)\b(?! (?:by|to|for|in|at|under|on)\b)"
    ),
)  # fmt: skip

#: Beginnings of clauses.
OPENING = (
    # announcements
    r"here(?: is|'s) (?:the|a) (?:short|quick|long|brief|simple|condensed|shorter) version\b",
    (
        rf"(?:quick|brief|short|concise|one-sentence|one-paragraph|executive)? ?{SUMMARY} ?\((?:in )?(?:about |approx\.? |under )?\d+ (?:words?"
        r"|sentences?)\)"
    ),
    rf"(?:quick|brief|short|concise|one-sentence|one-paragraph) {SUMMARY} of\b",
    rf"(?:draft|revised|updated|plain|my) {SUMMARY} ?:|an? (?:[\w-]+ )?{SUMMARY} of [^:]{{1,60}}:",
    rf"the {SUMMARY} is as follows\b|the {POINTS}(?: of the (?:text|article|case))? are (?:as follows|these)\b",
    (
        r"(?:the |your |this )?(?:input|message|prompt|provided text|text) (?:is|seems|appears|looks)(?: to be| to contain| to have)? (?:empty"
        r"|blank|incomplete|no (?:text|content))\b"
    ),
    r"(?:the |your )?(?:input|message|prompt) (?:contains|has|had) no (?:text|content|document|article)\b",
    (
        r"the source (?:also |only |then |itself )?(?:says|states|mentions|describes|reports|notes|explains|indicates|claims|does not|doesn't|gives no|gives"
        r" only|is silent)\b"
    ),
    (
        r"(?:in|throughout) this (?:short |brief |first |second )?(?:video|podcast|interview|episode|clip|lecture|talk|recording|webinar|scene|poem|story"
        r"|conversation|dialogue|chapter|extract),"
    ),
    (
        r"this (?:short |brief )?(?:video|podcast|interview|episode|clip|lecture|recording|webinar|scene|poem|conversation|dialogue|chat|e-?mail|letter|note"
        r"|thread|message|chapter) (?:is about|describes|discusses|explains (?:how|why|what|the)|shows how|shows (?:two|three|a|the) \w+ \w+ing|tells"
        r"|deals with|covers|outlines|summari[sz]es|informs \w+|revolves|focuses)\b"
    ),
    (
        r"(?:the|this) (?:conversation|dialogue|chat|exchange|discussion|interview|e-?mail thread|thread) (?:between .{3,50} )?(?:is about|revolves around"
        r"|cent(?:er|re)s on)\b"
    ),
    r"(?:the|this) (?:narrative|discussion|conversation|interview|account|plot) (?:shifts|moves on|turns|jumps|goes on|opens) (?:to|on|with|back)\b",
    r"(?:at|by|towards?) the end of the (?:story|text|passage|extract|excerpt),? we (?:learn|find|see|read)",
    r"this (?:report|paper|document|letter|note) is (?:structured|organi[sz]ed|divided)\b",
    (
        r"(?:so,? |basically,? )*what the (?:author|writer|text|article|passage|poet|narrator|speaker|story) (?:is (?:trying|saying|telling)|wants|means|says"
        r"|tries)\b.{0,40}\bis (?:that|how|to)\b"
    ),
    (
        r"an? (?:brief|quick|short|closer|first) (?:look|glance) at the (?:main |key )?(?:text|article|passage|document|excerpt|main events|(?:story"
        r"|events|case)(?=:))"
    ),
    r"(?:topics?|themes?|issues|points) (?:covered|addressed|raised) ?:|(?:genre|type of (?:text|document)|text type|document type) ?:",
    (
        r"this is an? (?:[\w-]+ ){0,3}(?:article|story|passage|text|letter|essay|excerpt|document|piece|tale|transcript|conversation) (?:about"
        r"|describing|that describes|discussing|detailing|explaining|in which|from)\b"
    ),
    (
        r"it(?: is|'s) an? (?:short|brief|long|news) (?:[\w-]+ ){0,2}(?:article|story|passage|text|letter|essay|piece) (?:about|describing"
        r"|explaining|from)\b"
    ),
    r"to keep (?:the|this|my|it) (?:\w+ )?(?:short|concise|brief|focused|simple)\b",
    (
        r"(?:here(?: is|'s| are)|below(?: is| are|,)|(?:the )?following (?:is|are)|what follows (?:is|are)|this is|these are"
        rf"|see below) {A}(?:[\w-]+,? ){{0,3}}"
        rf"(?:{SUMMARY}\b{LEGAL}(?! (?:map|flight)\b))"
    ),
    (
        rf"(?:here(?: is|'s| are)|below (?:is|are)|(?:the )?following (?:is|are)|these are|those are) {A}(?:[\w-]+,? ){{0,2}}(?:{POINTS}"
        r"|bullet points|takeaways|highlights)"
        rf"(?=[:.]|$| (?:of|from|in|set out in|made in|raised in|covered in) (?:{THE} )?{GIVEN}{TEXT}\b)"
    ),
    rf"(?:here(?: is|'s| are)) {A}(?:requested|revised|updated|json|final|condensed|shortened|rewritten|simplified)\b",
    rf"(?:here(?: is|'s)) (?:what|how) {THE} {GIVEN}{TEXT}",
    rf"(?:below|here),? (?:you (?:will|can|'ll) (?:find|see|read) (?:an?|the|my) (?:\w+ )?{SUMMARY}|i(?:'ve|'ll| have| will)? (?:\w+ )?{SHORTEN})",
    rf"(?:here|below), .{{1,80}}\b(?:is|are|has been|have been) {SHORTEN}e?d\b",
    (
        rf"(?:an?|the|my) (?:(?:brief|short|concise|quick|detailed|one-sentence) )?{SUMMARY} of {THE} {GIVEN}(?:document|article|text|passage"
        r"|excerpt|report|paper|transcript|letter)\b"
        r"(?! (?:was|were|is being|will be|had|by)\b)"
    ),
    (
        rf"(?:(?:brief|short|concise|quick) )?(?:{SUMMARY}|{POINTS}|takeaways|highlights|outline|bullet points)(?: (?:raised|made|discussed"
        r"|covered|presented|mentioned))? "
        rf"(?:of|from|in) (?:(?:{THE}) )?(?:document|article|text|passage|excerpt|transcript|(?:provided|given|attached|above|original"
        rf"|news) {GIVEN}(?:\w+ )?{TEXT})\b(?! of\b)"
    ),
    (
        rf"(?:the|some|several|all|its) {POINTS}(?: (?:raised|made|discussed|covered|presented|mentioned))? (?:of|from|in|by) (?:the"
        rf"|this) {GIVEN}(?:document|article|text|passage|excerpt|transcript|author|writer)s?\b(?! of\b)"
    ),
    (
        rf"(?:to|let me|let us|let's|allow me to|i'll|i will|i would like to|i'd like to) (?:now |briefly |quickly )?(?:{SHORTEN}(?:e|y)?|sum up"
        rf"|recap|outline) {THE} {GIVEN}(?:document|article|text|passage|excerpt|transcript|act|main|key|note|report)\b"
    ),
    (
        r"(?:let me|let us|let's|allow me to)(?: now| first| briefly)? (?:summari[sz]e|sum up|recap|give you|provide|break (?:this|it|down)"
        r"|walk you|condense|identify|extract|check|re-?read|draft|count|verify"
        r"|make sure|think about|start (?:by|with)|focus on|write (?:a|the|this)|analy[sz]e|look at the (?:text|article|document|passage)|outline"
        r"|begin|refine|rewrite|rephrase|revise|adjust|dive in)\b"
    ),
    rf"in this {SUMMARY}",
    (
        rf"(?:i )?(?:tried|aimed|attempted|made sure|was asked|am asked|was instructed) to (?:\w+ ){{0,2}}(?:{SHORTEN}|(?:keep|cover|include|preserve"
        r"|capture|write|produce|stay|avoid|focus)\b(?=.{0,60}\b(?:short|brief|concise|neutral|close to|summary|text|source|article"
        r"|document|words|sentences|points"
        r"|facts|names|numbers|details|original|everything|jargon)\b))"
    ),
    (
        r"for (?:the sake of )?(?:brevity|ease of reading|readability|conciseness|clarity|simplicity),? (?:.{0,60}\b(?:left out|omitted|shortened"
        r"|combined|summari[sz]ed|excluded|skipped|grouped|removed)|i )"
    ),
)  # fmt: skip
