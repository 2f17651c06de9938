"""Speed kept: instructions of the core against a baseline that is committed."""
