"""Truncation: does a text end where its last sentence, list, table or heading does?"""
