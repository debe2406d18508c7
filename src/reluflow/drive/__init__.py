"""Drivers: they run the engine in bursts, keep what it returns, and take a run up again from any checkpoint."""
