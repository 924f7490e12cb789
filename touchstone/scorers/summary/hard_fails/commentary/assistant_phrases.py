"""What an assistant says to the one who asked: greetings, offers, refusals, plans and remarks on itself."""

from touchstone.scorers.summary.hard_fails.commentary.phrase_parts import POINTS, SHORTEN, SUMMARY, TEXT, WORK

#: Unmistakable wherever they stand.
ANYWHERE = (
    # the one who asked
    (
        r"\byou(?:'ve| have| had)? (?:just |kindly )?(?:provided|shared|uploaded|pasted|attached|gave me|sent me|given me)\b"
        r"|\b(?:text|document|article|passage|transcript|excerpt|note)s? you(?:'ve| have| had)? (?:submitted|supplied|sent|gave)\b"
        r"|\byou(?:'ve| have| had)? (?:asked for|requested|wanted) (?:an? |the |only |just |\d+ |one |two |three |five |ten )*(?:[\w-]+ )?"
        r"(?:summar\w+|overview|sentences?|words|bullets?|bullet points|points|version|paragraphs?|lines)\b"
    ),
    r"\byou asked me to (?:summari[sz]e|condense|shorten|write|rewrite)\b",
    (
        r"\b(?:of|in|from|on|per|with|summari[sz]ed|shortened|read) your (?:provided |original |full )?(?:text|article|passage|prompt)\b"
        r"(?! (?:message|editor|box|field|size))"
        r"|\byour (?:provided |original |full )?(?:text|document|article|passage|prompt|input) (?:discusses|describes|explains|says|states|mentions|covers"
        r"|seems|appears|is about|was cut|does not|contains no)\b"
        r"|\b(?:summary|points|gist|text|based|content) (?:of|on|in) your (?:document|input|letter|notes)\b"
        r"|\b(?:per|complete|process|to answer|to fulfil) your (?:request|prompt|instructions?)\b"
    ),
    rf"\bas (?:you |per your )request(?:ed)?\b|\bas requested[,:](?= (?:here|below|in (?:plain|simple|short|one|two|three|\d)|an? |the )){WORK}",
    r"\bhere(?: is|'s| are) (?:the|your) [\w ]{0,30}\byou(?:'ve| have)? (?:requested|asked for)\b|\bas you asked\b|\bhere's what matters\b",
    r"\bas requested, in (?:plain|simple|short|one|two|three|\d)",
    r"\b(?:feel free to|don't hesitate to|do not hesitate to) (?:ask|reach out|let me|contact me|tell me|share)\b",
    (
        r"\blet me know (?:if|whether|what|how|which|when|in case) (?:you|i|this|that|there|any|the summary|a |more|anything"
        r"|something)\b(?!.{0,40}\b(?:pain|fever|symptoms?|worsens?)\b)"
    ),
    (
        r"\b(?:would you like|do you want|did you want|would you prefer) (?:me to\b|to see (?:the|a|more)\b|(?:the same|it|this|that|an?|any|more|another)\b"
        r"(?=.{0,50}\b(?:summary|version|shorter|longer|details?|bullets?|bullet|table|translation|translated|list|explanation|format|sentences?"
        r"|in (?:english|french|spanish|german|italian|bullet|another|plain))\b))"
    ),
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
    rf"\b(?:please )?(?:verify|consult|refer to|check|see|read) (?:\w+ ){{0,4}}?the (?:original|full|source|complete) {TEXT}\b",
    # itself
    r"\bas (?:an? |your )(?:\w+ )?assistant, ?i\b",
    (
        r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)(?: (?:language )?(?:model|assistant|system"
        r"|chatbot))?(?: \w+ by [\w ]{1,30})?, ?(?:i|my)\b"
    ),
    r"\bi(?: am|'m) (?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model|virtual assistant)\b",
)  # fmt: skip

#: Beginnings of clauses.
OPENING = (
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
        rf"|this is (?:an?|the|my)\b.{{0,30}}{SUMMARY}"
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
    # the assistant speaks of its work
    (
        rf"(?:i|i(?:'ve|'ll)|i (?:have|will|would|can|did|was able to))(?: (?:now|briefly|also|just|then|only|deliberately|carefully|not|first"
        r"|read through .{1,40} and))*"
        rf" (?:{SHORTEN}(?:e[ds]?|ed|y|ied|led)?|kept|keep|left out|leave out|omitted|omit|pulled out|pull out|extracted|extract|grouped|focused on"
        r"|highlighted|structured|organi[sz]ed|read through|read over|included|include|preserved"
        r"|boiled|broken down|outlined|written|write|created|create|provided|provide|prepared|prepare|produce|reviewed|analy[sz]ed|tried to"
        r"|aimed to)\b"
        rf"(?=.{{0,80}}\b(?:{SUMMARY}|{POINTS}|points|(?:text|document|article|passage|transcript|excerpt)|sentences|bullets?|words|below|above"
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
        rf"{WORK}"
    ),
    (
        r"(?:unfortunately,? |sorry,? (?:but )?|i(?: am|'m) sorry,? (?:but )?|i apologi[sz]e,? (?:but )?)?i (?:cannot|can't|can not|could not"
        r"|couldn't|am not allowed to|won't|will not|do not|don't|did not|didn't) "
        r"(?:summari[sz]e|provide (?:a|an|any|medical|legal|more|you|the|help|further)|access|fulfil|help (?:with|you)|assist|verify|tell (?:from"
        r"|whether)|determine|open (?:(?:the|this|that|any|your) )?(?:files?|links?|attach\w*|documents?|pages?|urls?|images?|pdf)|generate"
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
        rf"|cover|produce|list|add|look|read|start|provide|do my best|be concise)\b{WORK}"
    ),
    rf"i(?:'ll| will|'d| would like to) (?:now )?(?:{SHORTEN}|keep (?:this|it) (?:short|brief|concise)|be concise)",
    (
        rf"(?:we|i) (?:need|have|are asked|am asked|were asked|want) to (?:\w+ )?(?:{SHORTEN}|write|produce|create|identify|extract|rewrite"
        r"|generate|output|answer)(?=.{0,60}\b(?:text|summary|article|document|passage|words|sentences|points|bullet)\b)"
    ),
    (
        r"(?:so,? |okay,? )?(?:user(?= (?:wants?|asks?|asked|needs?|requests?|requested)\b)|the (?:user|prompt|instructions?|task|request|question"
        r"|human|system prompt|assignment))(?: here)? (?:wants?|asks?|asked"
        r"|has asked|is asking|is|needs?|requests?|requested|says?|requires?|provided|gave|would like)(?: (?:me|us|for|to|that|a|an|only))*"
        rf"(?=.{{0,60}}\b(?:{SUMMARY}|summari[sz]e|summari[sz]ing|text|article|document|passage|words|sentences|bullet|rewrite"
        r"|condense|main (?:points|facts)|key (?:points|facts)))(?! (?:the search))"
    ),
    (
        r"i(?:'ve| have)? tried to (?:stay|remain|be|keep) (?:\w+ )?(?:neutral|concise|brief|faithful|objective|close to the|accurate|factual|all (?:of )?the"
        r"|to the (?:text|facts|source))\b"
    ),
    (
        rf"i(?:'ve| have)? (?:went|gone|looked|read) (?:through|over|at) the (?:\w+ )?(?:{TEXT}|minutes)\b"
        r"(?=.{0,60}\b(?:here's|here is|here are|pulled out|picked out|matters|main|key|gist|summary|in short)\b)"
    ),
    r"here(?:'s| is) (?:what (?:matters|it says|it is about|i found)|the (?:upshot|bottom line|gist|rundown|lowdown))\b",
    r"below,? i(?:'ve| have)? (?:outlined?|set out|describe|list|summari|give|explain|present|go through)",
    r"below are (?:\w+ )?(?:sentences|bullets|bullet points)\b",
    r"i (?:hope|trust|think|believe) (?:that )?i(?:'ve| have) (?:covered|included|captured|summari)",
    r"i(?:'ve| have)? (?:not added|added nothing|have added nothing|did not add|changed nothing)\b",
    (
        r"i(?: am|'m) only able to (?:see|read|access|view|summari)|(?:the|this|your) (?:link|file|attachment|url) (?:does not|doesn't|won't"
        r"|will not) (?:open|load|work) for me"
    ),
    r"want (?:me to|it (?:shorter|longer|in)|an? (?:\w+ )?(?:version|summary))\b",
    (
        r"(?:please )?note that i(?: am|'m) (?:not|only|just)\b|i(?: am|'m) not an? (?:doctor|lawyer|physician|clinician|medical professional"
        r"|financial advis[eo]r|expert)[,;] but\b"
    ),
    (
        r"(?:the above|this(?: \w+)?|it|the information|the summary|nothing here) (?:is|should|does|must|may|are)(?: not|n't)?\b.{0,30}\b(?:medical|legal"
        r"|financial|professional|tax|investment) advice\b"
    ),
    (
        r"(?:the )?short answer ?:|my take ?:|in (?:my|your|other|my own) own words ?:|in my own words ?:|(?:rewritten|rephrased|put) in (?:plain"
        r"|simple|your|my)\b|simplified ?:"
    ),
    r"my (?:task|job|instructions?|goal|response|answer) (?:here )?(?:is|was|are) (?:to|that)\b",
    # offers and asks
    (
        r"(?:please |kindly )?(?:could|can|would) you (?:please )?(?:share|provide|paste|upload|send|clarify|confirm)\b"
        r"(?=.{0,40}\b(?:text|document|article|passage|content|link|file|transcript|which|what|whether|length)\b)"
    ),
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
)  # fmt: skip
