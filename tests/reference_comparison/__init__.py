"""The engine against the stored digits of the reference."""
