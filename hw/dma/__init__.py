"""A copy engine on the coherent bus."""
