"""What suites use to ask a judge: prompts, questions, verdicts and what they cost."""
