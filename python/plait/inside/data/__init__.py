"""Datasets, samplers and loaders of plait.data."""
