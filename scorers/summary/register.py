"""The register of an assistant: offers, refusals, announcements and remarks on its own summary, which no subject speaks in.

Rules read a sentence whose quotations are taken out (`unquoted`), in small letters. Those of `_ANYWHERE` stand wherever they like; those of `_OPENING`
begin a clause: the sentence, or what follows a full stop, colon, dash or bracket, after at most a few words of greeting or linking.
"""

import re

_TEXT = (
    r"(?:document|article|text|passage|excerpt|extract|snippet|transcript|essay|post|story|piece|report|paper|letter|note|notes|chapter|section"
    r"|content|material"
    r"|source|conversation|information|input|email|file|ruling|study|speech)s?"
)
_GIVEN = r"(?:(?:provided|given|attached|above|following|original|full|entire|source|input|whole|supplied|uploaded|shared|submitted|complete|rest of the) )*"
_THE = r"(?:the|this|your|that|an?|these)"
_A = r"(?:(?:an?|the|my|your|some|one|this|its|that) )?"
_SUMMARY = r"(?:summary|summari[sz]ation|overview|synopsis|recap|breakdown|tl;?dr|abridgement|condensation|gist|rundown|digest)"
#: "Summary" is an adjective there.
_LEGAL = (
    r"(?! (?:offen[cs]es?|executions?|judge?ments?|trials?|conviction|dismissal|proceedings?|procedure|order|affirmance|care|court|table|box|statistics?|screen"
    r"|page)\b)"
)
_POINTS = (
    r"(?:key|main|central|primary|core|major|most important|principal|essential|important) "
    r"(?:points?|takeaways?|ideas?|themes?|topics?|arguments?|messages?|facts?|details?|findings?|insights?|highlights?|parts?|rules?|claims?"
    r"|conclusions?|aspects?)"
)
_SHORTEN = r"(?:summari[sz]|condens|shorten|paraphras|rephras|simplif|distil|boil|abridg|recap)"
#: It is the summary or its source that this is about.
_WORK = (
    r"(?=.{0,80}\b(?:summar\w*|texts?|sources?|articles?|documents?|passage|words|facts?|points?|sentences?|key|main|details|concise"
    r"|transcript|file|link|information)\b)"
)

#: Unmistakable wherever they stand.
_ANYWHERE = (
    # the one who asked
    (
        r"\b(?:you(?:'ve|(?: have| had)?)) (?:just |kindly )?(?:provided|shared|uploaded|pasted|attached|submitted|supplied|gave me|sent me"
        r"|given me|asked for|requested)\b"
    ),
    r"\byou asked me to (?:summari[sz]e|condense|shorten|write|rewrite)\b",
    r"\byour (?:provided |original |full )?(?:text|document|article|passage|prompt|request|input)\b(?! (?:message|editor|box|field))",
    r"\bas (?:you |per your )?request(?:ed)?[.,:)]",
    r"\bas (?:you )?requested$",
    r"\b(?:feel free to|don't hesitate to|do not hesitate to) (?:ask|reach out|let me|contact me|tell me|share)\b",
    (
        r"\blet me know (?:if|whether|what|how|which|when|in case) (?:you|i|this|that|there|any|the summary|a |more|anything"
        r"|something)\b(?!.{0,40}\b(?:pain|fever|symptoms?|worsens?)\b)"
    ),
    r"\b(?:would you like|do you want|did you want|would you prefer) (?:me to|a |an |more|any|another|to see)\b",
    (
        r"\b(?:shall|should|may|can|could) i (?:also )?(?:expand|provide|add|summari[sz]e|shorten|translate|turn|elaborate|help|make|include"
        r"|give you)\b"
    ),
    (
        r"\b(?:i )?hope (?:this|that|the|my|it)(?: \w+){0,2} (?:helps?|is (?:of )?(?:help|useful|helpful|clear|what you)|was (?:useful|helpful)"
        r"|meets|clarifies|gives you|answers?)\b"
    ),
    (
        r"(?<!we are )(?<!we're )(?<!was )(?<!were )\b(?:happy|glad|delighted) to (?:help|assist|elaborate|expand|provide|summari[sz]e|clarify"
        r"|answer|shorten|adjust|revise)\b"
        r"(?=.{0,60}(?:$|[.!]| you| further| more| any| the (?:text|article|document)))"
    ),
    r"\bis there anything else\b.{0,30}\b(?:i can|you)\b",
    r"\bjust (?:say so|let me know|ask me|tell me)\b",
    (
        r"\bi can (?:also |gladly |certainly |of course )?(?:turn|expand|shorten|rewrite|reformat|provide|make|elaborate|give you|produce|offer"
        r"|help|adjust|translate|format)\b"
        r".{0,60}\b(?:you|this|that|it|if|version|summary|more|table|bullet|list|format|detail)"
    ),
    (
        r"\b(?:does|did) (?:this|that) (?:help|answer|work for you)\b.{0,20}\?|\banything else(?: you\b.{0,30})?\?|\bask me (?:if|for|about"
        r"|anything)\b"
    ),
    rf"\b(?:please )?(?:verify|consult|refer to|check|see|read) (?:\w+ ){{0,4}}?the (?:original|full|source|complete) {_TEXT}\b",
    # itself
    r"\bas (?:an? |your )(?:\w+ )?assistant, ?i\b",
    (
        r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)(?: (?:language )?(?:model|assistant|system"
        r"|chatbot))?(?: \w+ by [\w ]{1,30})?, ?(?:i|my)\b"
    ),
    r"\bi(?: am|'m) (?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model|virtual assistant)\b",
    # its own summary
    rf"\bmy (?:\w+ )?{_SUMMARY}\b",
    rf"\bhere(?: is|'s| are) {_A}(?:[\w-]+,? ){{0,3}}{_SUMMARY}\b{_LEGAL}(?! map\b)",
    r"\bthis (?:response|answer|output|reply) (?:was|is|has been) (?:limited|generated|based|kept|written|intended|not|only|an?)\b",
    r"\b(?:omitted|left out|shortened|condensed|skipped|removed|simplified) for (?:the sake of )?(?:brevity|conciseness|clarity|simplicity)\b",
    (
        r"\b(?:there (?:is|was) )?no (?:text|document|article|content|input|passage|file|attachment)s? (?:was|were|is|has been|to) (?:provided"
        r"|attached|given|included|supplied|uploaded|summari[sz]e)\b"
    ),
    r"\bas (?:it is|they are|it was|they were) in the (?:source|original|text|document|article)\b",
    rf"\bthis (?:brief |short |concise |quick |condensed |very )?(?:{_SUMMARY}){_LEGAL}\b(?! (?:of (?:facts|costs|evidence)|map)\b)",
    rf"\b(?:the|my) (?:{_SUMMARY}) (?:above|below)\b",
    rf"\b(?:the|an?) (?:above|preceding|foregoing|following) (?:\w+ )?(?:{_SUMMARY})\b{_LEGAL}",
    (
        r"\b(?:the above|the foregoing|what follows|the following|this|that|it|these)(?: is|'s| are| was) (?:just |only )?(?:an?|the"
        rf"|my)? ?(?:[\w-]+,? ){{0,3}}(?:{_SUMMARY}|{_POINTS})"
        rf" (?:of|for|from|in|and|that|which)\b(?= (?:{_THE} )?{_GIVEN}(?:{_TEXT}|leaves|omits|does|what|everything|you)\b)"
    ),
    rf"\b(?:end|beginning|start) of (?:the )?{_SUMMARY}\b",
    rf"\b(?:this|that) (?:concludes|completes|ends) (?:the|my|this) {_SUMMARY}",
    r"\b(?:word|character|token|sentence) count ?: ?~?\d",
    r"\b(?:summary|total) length ?: ?~?\d",
    rf"\b(?:left out of|omitted from|included in|excluded from|not part of|beyond the scope of) (?:this|my) (?:\w+ )?{_SUMMARY}",
    rf"\bas (?:they|it) (?:appears?|is given|are given|was given|were given|stands?) in the (?:original|source|provided|given) {_TEXT}\b",
    rf"\b(?:these|the above|those) (?:points|sentences|bullets?|facts) (?:{_SHORTEN}|capture|cover|reflect|represent)",
    (
        rf"\b(?:this|that|it|which) (?:covers|captures|includes|sums up|summari[sz]es) (?:all )?(?:of )?(?:the|everything)? ?(?:{_POINTS}"
        r"|everything)\b"
    ),
    rf"\blength ?: ?~?\d+ (?:words|sentences|characters|tokens)|\bno {_SUMMARY} (?:can|could|is|was) ",
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
    rf"\bthe {_SUMMARY} (?:stays|keeps|sticks|follows the|is limited to|is intended for|is based on|preserves|retains|avoids)\b",
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
        rf"\b(?:the|this) (?:{_TEXT}) (?:that )?(?:was |is )?(?:provided|supplied|given)(?: (?:above|here|below|to me|by the user"
        r"|in the prompt))?(?=[,.:;) ]|$)"
        r"(?! (?:by|to|for|in|at|with|under|from|that|on|as)\b)"
    ),
    rf"\b(?:the|this) (?:{_TEXT}) (?:above|below)(?=[,.:;)]|$)",
    r"\bsource (?:text|material|document|passage)\b(?=.{0,30}\b(?:is|are|was|does|mentions?|states?|says?|describes?|included|contains?)\b)",
    (
        r"\b(?:based (?:solely |only )?on|from|in|according to) the (?:information|details|content|material|context|data) (?:provided|given"
        r"|supplied)\b(?! (?:by|to|for|in|at|under|on)\b)"
    ),
)  # fmt: skip

#: Beginnings of clauses.
_OPENING = (
    # acknowledgements
    (
        r"(?:sure(?: thing)?|certainly|of course|absolutely|gladly|with pleasure|my pleasure|understood|got it|no problem|happy to help"
        r"|glad to help|here you go|great question"
        r"|good question|excellent question|you're welcome)(?:!|\.(?= |$))"
    ),
    (
        r"(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|alright|all right|great|right|well|understood|got it|no problem|yes|thanks"
        r"|perfect|so)[,!.:–—-]+ ?"
        r"(?:here(?: is|'s| are| you)|below (?:is|are|you)|i(?:'ll|'ve|'d| will| can| have| am)\b|the following (?:is|are)|let me|let's"
        rf"|this is (?:an?|the|my)\b.{{0,30}}{_SUMMARY}"
        r"|first, i\b|we need to|i need)"
    ),
    (
        r"(?:thank you|thanks)(?: so much| very much)? for (?:sharing|providing|sending|uploading|the (?:text|article|document)|your (?:question"
        r"|message|request|patience))"
    ),
    r"(?:great|good|excellent|interesting) question\b",
    (
        r"sure thing\b|(?:hi|hello|hey)(?: there)?!|(?:sorry|apologies|i apologi[sz]e) for (?:the|any|my) (?:confusion|mistake|error|delay"
        r"|oversight)|apologies[,.!] "
    ),
    (
        r"(?:short|condensed|quick|brief|concise|plain|simple|shorter) (?:summary|version|overview|recap) ?:|summary in (?:plain|simple) \w+ ?:"
        r"|final (?:answer|summary|version) ?:"
    ),
    (
        r"in (?:just )?(?:one|two|three|four|five|a few|fewer than \d+"
        r"|less than \d+|under \d+|about \d+|\d+) (?:short )?(?:sentences?|words|lines|bullet points)(?: or (?:less|fewer))? ?:"
    ),
    # announcements
    r"here(?: is|'s) (?:the|a) (?:short|quick|long|brief|simple|condensed|shorter) version\b",
    (
        rf"(?:quick|brief|short|concise|one-sentence|one-paragraph|executive)? ?{_SUMMARY} ?\((?:in )?(?:about |approx\.? |under )?\d+ (?:words?"
        r"|sentences?)\)"
    ),
    rf"(?:quick|brief|short|concise|one-sentence|one-paragraph) {_SUMMARY} of\b",
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
        rf"|see below) {_A}(?:[\w-]+,? ){{0,3}}"
        rf"(?:{_SUMMARY}\b{_LEGAL}(?! (?:map|flight)\b))"
    ),
    (
        rf"(?:here(?: is|'s| are)|below (?:is|are)|(?:the )?following (?:is|are)|these are|those are) {_A}(?:[\w-]+,? ){{0,2}}(?:{_POINTS}"
        r"|bullet points|takeaways|highlights)"
        rf"(?=[:.]|$| (?:of|from|in|set out in|made in|raised in|covered in) (?:{_THE} )?{_GIVEN}{_TEXT}\b)"
    ),
    rf"(?:here(?: is|'s| are)) {_A}(?:requested|revised|updated|json|final|condensed|shortened|rewritten|simplified)\b",
    rf"(?:here(?: is|'s)) (?:what|how) {_THE} {_GIVEN}{_TEXT}",
    rf"(?:below|here),? (?:you (?:will|can|'ll) (?:find|see|read) (?:an?|the|my) (?:\w+ )?{_SUMMARY}|i(?:'ve|'ll| have| will)? (?:\w+ )?{_SHORTEN})",
    rf"(?:here|below), .{{1,80}}\b(?:is|are|has been|have been) {_SHORTEN}e?d\b",
    (
        rf"(?:an?|the|my) (?:(?:brief|short|concise|quick|detailed|one-sentence) )?{_SUMMARY} of {_THE} {_GIVEN}(?:document|article|text|passage"
        r"|excerpt|report|paper|transcript|letter)\b"
        r"(?! (?:was|were|is being|will be|had|by)\b)"
    ),
    (
        rf"(?:(?:brief|short|concise|quick) )?(?:{_SUMMARY}|{_POINTS}|takeaways|highlights|outline|bullet points)(?: (?:raised|made|discussed"
        r"|covered|presented|mentioned))? "
        rf"(?:of|from|in) (?:(?:{_THE}) )?(?:document|article|text|passage|excerpt|transcript|(?:provided|given|attached|above|original"
        rf"|news) {_GIVEN}(?:\w+ )?{_TEXT})\b(?! of\b)"
    ),
    (
        rf"(?:the|some|several|all|its) {_POINTS}(?: (?:raised|made|discussed|covered|presented|mentioned))? (?:of|from|in|by) (?:the"
        rf"|this) {_GIVEN}(?:document|article|text|passage|excerpt|transcript|author|writer)s?\b(?! of\b)"
    ),
    (
        rf"(?:to|let me|let us|let's|allow me to|i'll|i will|i would like to|i'd like to) (?:now |briefly |quickly )?(?:{_SHORTEN}(?:e|y)?|sum up"
        rf"|recap|outline) {_THE} {_GIVEN}(?:document|article|text|passage|excerpt|transcript|act|main|key|note|report)\b"
    ),
    (
        r"(?:let me|let us|let's|allow me to)(?: now| first| briefly)? (?:summari[sz]e|sum up|recap|give you|provide|break (?:this|it|down)"
        r"|walk you|condense|identify|extract|check|re-?read|draft|count|verify"
        r"|make sure|think about|start (?:by|with)|focus on|write (?:a|the|this)|analy[sz]e|look at the (?:text|article|document|passage)|outline"
        r"|begin|refine|rewrite|rephrase|revise|adjust|dive in)\b"
    ),
    rf"in this {_SUMMARY}",
    (
        rf"(?:i )?(?:tried|aimed|attempted|made sure|was asked|am asked|was instructed) to (?:\w+ ){{0,2}}(?:keep|{_SHORTEN}|cover|include|preserve"
        r"|capture|write|produce|stay|avoid|focus)"
    ),
    (
        r"for (?:the sake of )?(?:brevity|ease of reading|readability|conciseness|clarity|simplicity),? (?:.{0,60}\b(?:left out|omitted|shortened"
        r"|combined|summari[sz]ed|excluded|skipped|grouped|removed)|i )"
    ),
    # the assistant speaks of its work
    (
        rf"(?:i|i(?:'ve|'ll)|i (?:have|will|would|can|did|was able to))(?: (?:now|briefly|also|just|then|only|deliberately|carefully|not|first"
        r"|read through .{1,40} and))*"
        rf" (?:{_SHORTEN}(?:e[ds]?|ed|y|ied|led)?|kept|keep|left out|leave out|omitted|omit|pulled out|pull out|extracted|extract|grouped|focused on"
        r"|highlighted|structured|organi[sz]ed|read through|read over|included|include|preserved"
        r"|boiled|broken down|outlined|written|write|created|create|provided|provide|prepared|prepare|produce|reviewed|analy[sz]ed|tried to"
        r"|aimed to)\b"
        rf"(?=.{{0,80}}\b(?:{_SUMMARY}|{_POINTS}|points|(?:text|document|article|passage|transcript|excerpt)|sentences|bullets?|words|below|above"
        r"|brevity|everything|it short|this short|details)\b)"
    ),
    (
        r"(?:unfortunately,? |sorry,? (?:but )?|i(?: am|'m) sorry,? (?:but )?|i apologi[sz]e,? (?:but )?)?i(?: am|'m| was| were"
        r"|'ve been)? (?:un(?:able)|not able) to (?:summari[sz]e|provide (?:a|an|any|more|you|the|further)|access|open|fulfil|help (?:with|you)|generate"
        r"|assist|verify|process|fulfill)\b"
    ),
    (
        r"(?:unfortunately,? )?i(?: am|'m| was| were|'ve been)? (?:un(?:able)|not able) to (?:find|determine|tell|confirm|locate|identify|view|complete"
        r"|extract|see)\b"
        rf"{_WORK}"
    ),
    (
        r"(?:unfortunately,? |sorry,? (?:but )?|i(?: am|'m) sorry,? (?:but )?|i apologi[sz]e,? (?:but )?)?i (?:cannot|can't|can not|could not"
        r"|couldn't|am not allowed to|won't|will not|do not|don't|did not|didn't) "
        r"(?:summari[sz]e|provide (?:a|an|any|medical|legal|more|you|the|help|further)|access|fulfil|help (?:with|you)|assist|verify|tell (?:from"
        r"|whether)|determine|open (?:the|this|that|files?|attach)|generate"
        r"|have (?:access|enough (?:information|context|text|detail)|the (?:text|document|article)|opinions?|any further|personal)|see (?:the"
        r"|any) (?:text|document|article|attach)|find (?:the|a|any)(?=.{0,60}\b(?:text|document|article|passage)))\b"
    ),
    r"i(?: am|'m) sorry,? (?:but )?(?:i|as an ai|the (?:text|document|article)|there (?:is|was) no)\b",
    r"i apologi[sz]e\b",
    r"i(?:'d| would) be (?:happy|glad) to\b",
    (
        r"(?:(?:first|next|now|then|finally|okay|so),? )?(?:i (?:will|need to|should|must|have to|want to)|i'll|let me|let's|we need to|we should|we must)"
        r"(?: now| first| also| just)? (?:check|identify|make sure|summari[sz]e|extract|write|focus|include|keep|draft|count|verify|re-?read|mention|avoid"
        r"|condense"
        rf"|cover|produce|list|add|look|read|start|provide|do my best|be concise)\b{_WORK}"
    ),
    rf"i(?:'ll| will|'d| would like to) (?:now )?(?:{_SHORTEN}|keep (?:this|it) (?:short|brief|concise)|be concise)",
    (
        rf"(?:we|i) (?:need|have|are asked|am asked|were asked|want) to (?:\w+ )?(?:{_SHORTEN}|write|produce|create|identify|extract|rewrite"
        r"|generate|output|answer)(?=.{0,60}\b(?:text|summary|article|document|passage|words|sentences|points|bullet)\b)"
    ),
    (
        r"(?:so,? |okay,? )?the (?:user|prompt|instructions?|task|request|question|human|system prompt|assignment)(?: here)? (?:wants?|asks?|asked"
        r"|has asked|is asking|is|needs?|requests?|requested|says?|requires?|provided|gave|would like)(?: (?:me|us|for|to|that|a|an|only))*"
        rf"(?=.{{0,60}}\b(?:{_SUMMARY}|summari[sz]e|summari[sz]ing|text|article|document|passage|words|sentences|bullet|rewrite"
        r"|condense))(?! (?:the search))"
    ),
    r"my (?:task|job|instructions?|goal|response|answer) (?:here )?(?:is|was|are) (?:to|that)\b",
    # offers and asks
    r"(?:please |kindly )?(?:could|can|would) you (?:please )?(?:share|provide|paste|upload|send|clarify|confirm)\b",
    (
        r"please (?:provide|share|paste|upload|supply)(?: me)?(?: with)? (?:the|your|an?|more) (?:full |complete |actual |original )?(?:text"
        r"|document|article|passage|content|file|context|details|information)\b"
    ),
    r"if (?:you|there|a|an|any)\b.{1,80}\b(?:let me know|just say so|feel free|just ask|please ask|tell me|i can|i will|i'll|i'd be)\b",
    r"(?:please )?note that (?:this|the|my) (?:summary|response|answer|overview)\b",
    (
        r"it (?:seems|looks like|appears)(?: that)? (?:the|your|this) (?:text|document|article|passage|message|file|input)(?: you \w+)? (?:is|was"
        r"|got|has|may|appears|ended|cuts?)\b"
    ),
    (
        r"for (?:more|further|full|additional) (?:details?|information|context)[^.]{0,40}(?:refer to|see|consult|read|check) the (?:original|full"
        r"|source|complete)\b"
    ),
    # the same in other languages
    r"(?:voici|voilà) (?:(?:un|une|le|la|les|votre) )?(?:\w+ ){0,2}(?:résumé|synthèse|points? (?:clés|principaux))",
    (
        r"(?:ce|cet|cette|le|l')\s?(?:texte|document|article|passage|extrait|résumé|auteur)(?: (?:ci-dessus|fourni))? (?:décrit|parle|explique"
        r"|présente|traite|aborde|résume|évoque|indique|affirme|souligne)\b"
    ),
    r"(?:hier ist|hier sind|nachfolgend|im folgenden|es folgt)(?: \w+){0,3} (?:zusammenfassung|kernpunkte|überblick|wichtigsten punkte)",
    (
        r"(?:der|dieser|das|dieses|die|diese) (?:text|artikel|autor|autorin|dokument|abschnitt|zusammenfassung) (?:beschreibt|behandelt|handelt"
        r"|erklärt|erläutert|fasst|schildert|thematisiert|befasst|besagt|stellt)\b"
    ),
    r"zusammenfassung de[sr] (?:\w+ )?(?:textes|artikels|dokuments|abschnitts)",
    r"(?:aquí (?:está|tienes?|hay|se presenta)|a continuación)(?: \w+){0,4} (?:resumen|puntos (?:clave|principales))",
    (
        r"(?:el|este) (?:texto|artículo|documento|autor|pasaje|resumen) (?:describe|habla|explica|trata|presenta|aborda|menciona|analiza|resume"
        r"|señala|afirma)\b"
    ),
    (
        r"(?:resumen|resumo|riassunto|samenvatting|résumé) (?:del|do|da|van de|van het|du|de la|dell')\s?(?:texto|artículo|documento|artigo|testo"
        r"|articolo|tekst|artikel|texte|document|article)"
    ),
    r"ecco (?:(?:un|il|una|la) )?(?:\w+ )?(?:riassunto|sintesi|riepilogo)",
    r"(?:il|questo|l')\s?(?:testo|articolo|documento|autore|brano) (?:descrive|parla|spiega|tratta|presenta|racconta|afferma|analizza)\b",
    r"(?:aqui está|segue|eis)(?: \w+){0,3} (?:resumo|síntese)",
    r"(?:o|este) (?:texto|artigo|documento|autor|trecho) (?:descreve|fala|explica|trata|apresenta|aborda|menciona|discute)\b",
    r"hier (?:is|zijn|volgt)(?: \w+){0,2} (?:samenvatting|hoofdpunten)",
    r"(?:de|deze|het|dit) (?:tekst|artikel|auteur|document|passage) (?:beschrijft|gaat over|bespreekt|legt uit|behandelt|vertelt)\b",
)  # fmt: skip
_LINK = (
    r"(?:(?:overall|in (?:summary|conclusion|short|brief|essence|addition|general)|to (?:summari[sz]e|conclude|sum up)|finally|additionally|furthermore"
    r"|moreover|also|first|next|then|however"
    r"|lastly|specifically|notably|ultimately|here|note(?: that)?|sure|certainly|of course|okay|ok|alright|all right|great|well|so|hi|hello|summary"
    r"|overview|abstract"
    r"|answer|output|response|tl;?dr"
    r"|unfortunately|sorry|please|and|but)\b ?[,:;!.–—-]? ?){0,2}"
)
_CLAUSE = r"(?:^|(?<=[.!?:;–—(\[] )|(?<=[(\[]))"
_RULES = re.compile(rf"(?:{'|'.join(_ANYWHERE)})|{_CLAUSE}{_LINK}(?:{'|'.join(f'(?:{rule})' for rule in _OPENING)})")
#: So much of a sentence is read.
_CHARS = 2_000


def is_assistant(sentence: str) -> bool:
    """Whether a sentence, quotations taken out and in small letters, is in the register of an assistant."""
    return _RULES.search(sentence[:_CHARS]) is not None
