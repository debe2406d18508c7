"""Single neurons of any depth."""
