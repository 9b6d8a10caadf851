"""Amounts of money from values: policies, exact division, and currencies."""
