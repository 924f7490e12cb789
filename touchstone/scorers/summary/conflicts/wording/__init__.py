"""Words in which a sentence and the unit it is about say different things: negations, opposites, names, sides and allergies."""
