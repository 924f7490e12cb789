"""The second stage of Loss V3, with `support: judge`: what the models leave uncertain is asked of a judge, in one call per case. See docs/summary-loss.md."""
