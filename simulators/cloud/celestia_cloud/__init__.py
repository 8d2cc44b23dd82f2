"""A simulator of the Celestia cloud: the whole API with real state, strict, and with faults on command."""
