"""Independent implementations and random problems that the tests share."""
