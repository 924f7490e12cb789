"""How far a judge can be trusted, measured against the verdicts of people."""
