"""Compilers of the tables that ship."""
