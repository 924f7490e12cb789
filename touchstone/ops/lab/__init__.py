"""Whether it is right: chaos, agreement with recorded verdicts and oracles, models against labels."""
