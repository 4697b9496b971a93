"""Readers of CSV, JSONL and text."""
