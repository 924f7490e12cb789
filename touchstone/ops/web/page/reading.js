// Draws the reading of a case: sections of text, marks in them, findings beside them.
