"""A simulator of the Celestia cloud: the whole API with real state, strict about its contract, with faults on command."""
