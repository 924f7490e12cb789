"""Fragments of patterns that the register of an assistant is told by: words for texts, summaries and summarising, in small letters."""

TEXT = (
    r"(?:document|article|text|passage|excerpt|extract|snippet|transcript|essay|post|story|piece|report|paper|letter|note|notes|chapter|section"
    r"|content|material"
    r"|source|conversation|information|input|email|file|ruling|study|speech)s?"
)
GIVEN = r"(?:(?:provided|given|attached|above|following|original|full|entire|source|input|whole|supplied|uploaded|shared|submitted|complete|rest of the) )*"
THE = r"(?:the|this|your|that|an?|these)"
A = r"(?:(?:an?|the|my|your|some|one|this|its|that) )?"
SUMMARY = r"(?:summary|summari[sz]ation|overview|synopsis|recap|breakdown|tl;?dr|abridgement|condensation|gist|rundown|digest)"
#: "Summary" is an adjective there.
LEGAL = (
    r"(?! (?:offen[cs]es?|executions?|judge?ments?|trials?|conviction|dismissal|proceedings?|procedure|order|affirmance|care|court|table|box|statistics?|screen"
    r"|page)\b)"
)
POINTS = (
    r"(?:key|main|central|primary|core|major|most important|principal|essential|important) "
    r"(?:points?|takeaways?|ideas?|themes?|topics?|arguments?|messages?|facts?|details?|findings?|insights?|highlights?|parts?|rules?|claims?"
    r"|conclusions?|aspects?)"
)
SHORTEN = r"(?:summari[sz]|condens|shorten|paraphras|rephras|simplif|distil|boil|abridg|recap)"
#: It is the summary or its source that this is about.
WORK = (
    r"(?=.{0,80}\b(?:summar\w*|texts?|sources?|articles?|documents?|passage|words|facts?|points?|sentences?|key|main|details|concise"
    r"|transcript|file|link|information)\b)"
)
