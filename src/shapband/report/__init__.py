"""Figures of valuations, drawn on matplotlib axes; this package computes no estimates."""
