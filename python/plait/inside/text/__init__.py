"""The tokenizers of plait.text."""
