"""Figures of valuations, and the HTML report; this package computes no estimates."""
