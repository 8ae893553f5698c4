"""f and L for few observed targets, squared loss."""
