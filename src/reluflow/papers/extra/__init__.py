"""Beyond the papers: figures that need exact flow at any scale and time."""
