"""Announcements and talk of the text in other languages than English."""

#: Beginnings of clauses.
OPENING = (
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
