"""Settings that apply within a `with` block or a decorated function."""
