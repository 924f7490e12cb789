"""The second stage of Loss V3, with `support: judge`: one call per case about what the models leave uncertain. See docs/summary-loss-judge.md."""
