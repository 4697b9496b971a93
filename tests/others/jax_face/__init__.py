"""JAX's interface for Plait: its trees, transforms, lax and test helpers, as far as its tests need them."""
