"""A face of JAX for Plait: its trees, transforms, lax and test helpers, as far as its tests are asked."""
