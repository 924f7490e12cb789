"""Every setting: unit, bound and default."""
