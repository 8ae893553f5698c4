"""Losses with kinks: a sequence of problems with smooth losses."""
