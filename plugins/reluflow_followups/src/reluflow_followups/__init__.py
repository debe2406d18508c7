"""Papers that follow up on those of reluflow: one folder each, found by reluflow through entry points."""
