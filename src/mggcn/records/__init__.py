"""What runs leave: records, ledgers, packed files and their summaries."""
