"""What can be measured on a run: one function per quantity, labelled arrays out."""
