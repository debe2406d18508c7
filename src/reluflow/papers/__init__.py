"""The papers: one folder each, one file per numbered result or figure."""
