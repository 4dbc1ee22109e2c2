"""Train node classifiers on graphs too large for full-batch GCNs."""
